package line_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What is under way when ctx ends, and what is left behind then, share the 100 ms for which an
// Obtain in line may go on.
func TestQueueEndsInTime(t *testing.T) {
	t.Parallel()
	const most = 100 * time.Millisecond
	for _, test := range []struct {
		name  string
		takes time.Duration // the ask that is under way when ctx ends; negative: none is
	}{
		{"at once", 0}, {"late", 90 * time.Millisecond}, {"too late", 110 * time.Millisecond}, {"while it waits", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var ended time.Time
				left := make(chan struct{}, 16)
				asked := 0
				client := redislock.New((&world.FakeServer{Script: func(run check.Run) string {
					switch {
					case world.AsksFirst(run):
						return world.HeldBySomebody
					case !world.StandsInLine(run):
						left <- struct{}{}
						return ""
					}
					if asked++; asked == 1 && test.takes >= 0 {
						ended = time.Now()
						cancel()
						time.Sleep(test.takes)
					}
					return world.InPlace(1, 1)
				}}).Client(t))
				defer client.Close()
				if test.takes < 0 {
					time.AfterFunc(time.Second, func() {
						ended = time.Now()
						cancel()
					})
				}
				_, err := client.Obtain(ctx, []string{"k"}, time.Minute, world.Queue())
				check.Is(t, err, context.Canceled)
				check.Is(t, err, context.Canceled)
				if took := time.Since(ended); took > most {
					t.Errorf("it went on for %v after its context had ended, want %v at most", took, most)
				}
				<-left // and clears up
			})
		})
	}
}
