package check

import (
	"context"
	"log/slog"
	"sync"
)

// A Log is a slog.Handler that keeps what is logged.
type Log struct {
	mu      sync.Mutex
	records []slog.Record
}

// Enabled is true at every level.
func (l *Log) Enabled(context.Context, slog.Level) bool { return true }

// Handle keeps a record.
func (l *Log) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r.Clone())
	return nil
}

// WithAttrs is not needed here.
func (l *Log) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup is not needed here.
func (l *Log) WithGroup(string) slog.Handler { return l }

// At returns the messages of a level, in order.
func (l *Log) At(level slog.Level) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var messages []string
	for _, r := range l.records {
		if r.Level == level {
			messages = append(messages, r.Message)
		}
	}
	return messages
}

// Attr returns an attribute of every record that has it. Attributes of a group without a name count as attributes of
// the record.
func (l *Log) Attr(key string) []any {
	l.mu.Lock()
	defer l.mu.Unlock()
	var values []any
	var look func(a slog.Attr) bool
	look = func(a slog.Attr) bool {
		if a.Key == "" && a.Value.Kind() == slog.KindGroup {
			for _, inner := range a.Value.Group() {
				look(inner)
			}
		} else if a.Key == key {
			values = append(values, a.Value.Any())
		}
		return true
	}
	for _, r := range l.records {
		r.Attrs(look)
	}
	return values
}
