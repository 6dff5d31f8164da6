package multi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/multi"
)

// A strategy that does not wait at all does not keep the servers busy with nothing else.
func TestStrategyThatDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.block(t, time.Hour, "c")
		w.took()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := multi.Obtain(ctx, w.abc(), time.Minute,
			&redislock.Options{RetryStrategy: func() redislock.BackOff { return &backoff.ZeroBackOff{} }})
		wantIs(t, err, context.DeadlineExceeded)
		n := 0
		for _, event := range w.took() {
			if strings.HasPrefix(event, "refused") {
				n++
			}
		}
		if n < 150 || n > 310 {
			t.Errorf("asked %d times in 300 ms, want at most once each millisecond", n)
		}
	})
}

// Texts with a number are right for one as well.
func TestTextsForOne(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.block(t, time.Hour, "c")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := multi.Obtain(ctx, w.abc(), time.Minute, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Hour)})
		if err == nil || !strings.Contains(err.Error(), "and 1 attempt: ") {
			t.Errorf("got error %v, want it to count one attempt", err)
		}
	})
}
