package outcome_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/wire"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A quorum leaves its goroutines alone with what their Obtain does after its requests. Close waits for them, hooks included.
func TestCloseWaitsForWhoStays(t *testing.T) {
	for key, want := range map[string]error{"free": nil, "held": redislock.ErrNotObtained} {
		t.Run(key, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
				begun, goesOn := make(chan struct{}, 1), make(chan struct{})
				var slow bool
				hook := func(context.Context, redislock.Event) {
					if slow {
						begun <- struct{}{}
						<-goesOn
					}
				}
				client := world.NewClient(t, mini.Client(t), redislock.WithHooks(redislock.Hooks{Obtained: hook, Refused: hook}))
				check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"held"}, time.Minute, nil))
				slow = true
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done, closed := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					_, err := client.Obtain(wire.Stay(ctx, time.Minute), []string{key}, time.Minute, nil)
					check.Is(t, err, want)
				}()
				<-begun
				go func() {
					defer close(closed)
					client.Close()
				}()
				synctest.Wait()
				select {
				case <-closed:
					t.Error("Close does not wait")
				default:
				}
				close(goesOn)
				<-done
				<-closed
			})
		})
	}
}
