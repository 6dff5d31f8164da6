package cli

import (
	"context"
	"sync/atomic"
)

// A used is the server that a command has opened last. It is remembered for the explanation of an error: by then the command has
// closed its connection.
type used struct {
	redis Redis
	name  string // for people
}

type usedKey struct{}

// withLast returns a context that remembers which server was used last.
func withLast(ctx context.Context) context.Context {
	return context.WithValue(ctx, usedKey{}, new(atomic.Pointer[used]))
}

// lastOf returns the server that was used last under a context; nobody remembers it under one that is not of [withLast].
func lastOf(ctx context.Context) *atomic.Pointer[used] {
	if last, ok := ctx.Value(usedKey{}).(*atomic.Pointer[used]); ok {
		return last
	}
	return new(atomic.Pointer[used])
}
