package quorum_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
)

// A strategy that does not wait at all does not keep the nodes busy with nothing else.
func TestStrategyThatDoesNotWait(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		w.block(t, "a", long, 0, 1, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		before := w.count("refused", 0)
		_, err := w.client.Obtain(ctx, []string{"a"}, long,
			&redislock.Options{RetryStrategy: func() redislock.BackOff { return &backoff.ZeroBackOff{} }})
		wantIs(t, err, context.DeadlineExceeded)
		if n := w.count("refused", 0) - before; n < 90 || n > 310 {
			t.Errorf("a node was asked %d times in 300 ms, want at most once each millisecond", n)
		}
	})
}

// Texts with a number are right for one as well.
func TestTextsForOne(t *testing.T) {
	bubble(t, 1, func(t *testing.T, w *world) {
		w.block(t, "a", long, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := w.client.Obtain(ctx, []string{"a"}, long, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Hour)})
		for _, want := range []string{"1 attempt: ", "0 of 1 node, 1 is needed"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want it to say %q", err, want)
			}
		}
	})
}
