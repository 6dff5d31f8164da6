package election_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
)

// A failing Client elects nobody, and notes when it is asked.
type failing struct{ at []time.Time }

func (c *failing) With(_ context.Context, _ []string, _ time.Duration, _ *redislock.Options, _ func(context.Context) error) error {
	if n := len(c.at); n == 0 || c.at[n-1] != time.Now() {
		c.at = append(c.at, time.Now())
	}
	return redislock.ErrNotObtained
}

// A candidate that fails tries again after 50 ms, then each time after twice as long, up to a second; each time give or take a
// half.
func TestRunPauses(t *testing.T) {
	t.Parallel()
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			client := &failing{}
			c := &election.Candidate{Client: client, Key: "k", TTL: time.Minute, Logger: slog.New(slog.DiscardHandler)}
			_ = c.Run(ctx, func(context.Context) error { return nil })
			usual := 50 * time.Millisecond
			for i := 1; i < len(client.at)-1; i++ { // the last one was cut by the end of ctx
				if got := client.at[i].Sub(client.at[i-1]); got < usual/2 || got > min(usual*3/2, time.Second) {
					t.Errorf("pause %d is %v, want about %v", i, got, usual)
				}
				usual = min(2*usual, time.Second)
			}
			if len(client.at) < 10 {
				t.Errorf("asked %d times", len(client.at))
			}
		})
	}
}
