package reentrant

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/inctx"
)

type holdKey struct{}

// FromContext returns the hold under which a function runs: the hold of the innermost [With] or
// [Hold.Context] from which ctx is derived. It returns nil if there is none. A nil Hold can be asked: it
// has no keys and no fencing number. A hold that was released or lost meanwhile is returned as well.
//
// [redislock.FromContext] finds neither it nor the root locks that carry its keys, but a lock further
// out that a [redislock.Client] has obtained.
func FromContext(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}

// Context returns a context derived from ctx that is cancelled with cause [redislock.ErrLockLost]
// when a key of the hold is lost: see [redislock.Lock.Context]. When the hold is released it is
// cancelled with [context.Canceled], even if there are other holds of the keys. The context of a nil or
// zero Hold has ended already, with a [redislock.ErrLockNotHeld]. [FromContext] finds the hold in the
// context.
func (h *Hold) Context(ctx context.Context) context.Context {
	if h.isNothing() {
		return inctx.Nobodys(ctx, holdKey{}, h, fmt.Errorf("reentrant: %w: no Obtain has returned it", redislock.ErrLockNotHeld))
	}
	return inctx.Over(ctx, h.join(ctx), holdKey{}, h) // a root lock must not be found
}

// join returns a context that ends with the hold, or with any of its root locks.
func (h *Hold) join(ctx context.Context) context.Context {
	ctx = h.told.Join(ctx)
	for _, c := range h.carriers {
		ctx = c.root.Context(ctx) //nolint:fatcontext // the first loss ends it
	}
	return ctx
}

// Lost returns a channel that is closed when a key of the hold is lost. A Release does not close it. The
// channel of a nil or zero Hold is never closed.
func (h *Hold) Lost() <-chan struct{} {
	if h.isNothing() {
		return make(chan struct{})
	}
	h.owner.mu.Lock()
	lost, asked := h.lost, h.lost != nil
	if !asked {
		lost = make(chan struct{})
		h.lost = lost
	}
	h.owner.mu.Unlock()
	if asked {
		return lost
	}
	ctx := h.join(context.Background())
	tell := func() {
		if errors.Is(context.Cause(ctx), redislock.ErrLockLost) {
			close(lost)
		}
	}
	if ctx.Err() != nil {
		tell() // before it is asked
	} else {
		context.AfterFunc(ctx, tell)
	}
	return lost
}
