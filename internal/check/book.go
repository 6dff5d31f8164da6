package check

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// A Book is a slog.Handler that keeps each record as one line, as a whole: its level, its message, its attributes, and the
// page of its context, if that has one.
type Book struct {
	Log
	mu    sync.Mutex
	lines []string
}

// Handle writes a line.
func (b *Book) Handle(ctx context.Context, r slog.Record) error {
	var line strings.Builder
	fmt.Fprintf(&line, "%s %s", r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&line, " %s=%v", a.Key, a.Value)
		return true
	})
	if page := PageOf(ctx); page != "" {
		line.WriteString(" on " + page)
	}
	b.mu.Lock()
	b.lines = append(b.lines, line.String())
	b.mu.Unlock()
	return b.Log.Handle(ctx, r)
}

// WithAttrs is not needed here.
func (b *Book) WithAttrs([]slog.Attr) slog.Handler { return b }

// WithGroup is not needed here.
func (b *Book) WithGroup(string) slog.Handler { return b }

// Lines returns what was written, in order.
func (b *Book) Lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.lines)
}

type page struct{}

// OnPage returns a context by which a test tells where it was passed on to.
func OnPage(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, page{}, name)
}

// PageOf returns the name that OnPage gave to a context; empty if it did not.
func PageOf(ctx context.Context) string {
	name, _ := ctx.Value(page{}).(string)
	return name
}

// Seeing is a hook of a Redis client that is called with the context of each single command before it is sent.
type Seeing func(ctx context.Context, cmd redis.Cmder)

// DialHook lets connections pass.
func (s Seeing) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook sees a command.
func (s Seeing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s(ctx, cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook lets commands pass that are sent together: they have no context of their own.
func (s Seeing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
