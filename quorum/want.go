package quorum

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/inctx"
)

// A want is the lock that nodes are asked for.
type want struct {
	token    string // of redislock.Client.As; empty: each node has a token of its own
	set      redislock.Set
	ttl      time.Duration
	opt      redislock.Options
	patience time.Duration // the node time-out
	caller   string        // the id of [redislock.WithCaller]; empty without one
	id       uint64        // of its events
}

// under returns the context in which a node is asked for it later: with the caller's id of the Obtain.
func (w *want) under(ctx context.Context) context.Context {
	switch {
	case inctx.Caller(ctx) == w.caller:
		return ctx
	case w.caller == "":
		return valueless{ctx}
	}
	return redislock.WithCaller(ctx, w.caller)
}

// valueless is a context without values. It hides the id of another caller from a request that has none of its own.
type valueless struct{ context.Context }

func (valueless) Value(any) any { return nil }

// key returns one of the keys, if there are any.
func (w *want) key() string {
	for _, keys := range [][]string{w.set.Write, w.set.Read} {
		if len(keys) > 0 {
			return keys[0]
		}
	}
	return ""
}

// name is what errors call it.
func (w *want) name() string {
	switch n := len(w.set.Write) + len(w.set.Read); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" %q", w.key())
	default:
		return fmt.Sprintf(" %q and %d more", w.key(), n-1)
	}
}
