package quorum

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A loss is reported as a loss, also if the holder releases the lock before that was done.
func TestLostBeforeReleased(t *testing.T) {
	t.Parallel()
	l := &Lock{quorum: &Client{}, watched: true, deadline: time.Now()}
	ctx, closed := l.Context(t.Context()), l.Lost()
	l.mu.Lock()
	_, reportLost := l.endLocked(lost)
	_, reportReleased := l.endLocked(released)
	l.mu.Unlock()
	reportReleased()
	reportLost()
	for _, ctx := range []context.Context{ctx, l.Context(t.Context())} {
		if cause := context.Cause(ctx); !errors.Is(cause, redislock.ErrLockLost) {
			t.Errorf("got cause %v", cause)
		}
	}
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Error("the channel of the loss is open")
	}
}
