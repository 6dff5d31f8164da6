package check

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// A Log is a slog.Handler that keeps what is logged.
type Log struct {
	mu      sync.Mutex
	records []slog.Record
	lines   []string
}

// Enabled is true at every level.
func (l *Log) Enabled(context.Context, slog.Level) bool { return true }

// Handle keeps a record.
func (l *Log) Handle(ctx context.Context, r slog.Record) error {
	var line strings.Builder
	fmt.Fprintf(&line, "%s %s", r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&line, " %s=%v", a.Key, a.Value)
		return true
	})
	if page := PageOf(ctx); page != "" {
		line.WriteString(" on " + page)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records, l.lines = append(l.records, r.Clone()), append(l.lines, line.String())
	return nil
}

// Lines returns each record as one line, as a whole: its level, its message, its attributes, and the page of its context, if that
// has one.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
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
