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
	for name, act := range map[string]func(t *testing.T, ctx context.Context, client *redislock.Client){
		"an Obtain that succeeds": func(t *testing.T, ctx context.Context, client *redislock.Client) {
			_, err := client.Obtain(ctx, []string{"b"}, time.Minute, nil)
			check.NoError(t, err)
		},
		"an Obtain that is refused": func(t *testing.T, ctx context.Context, client *redislock.Client) {
			_, err := client.Obtain(ctx, []string{"a"}, time.Minute, nil)
			check.Is(t, err, redislock.ErrNotObtained)
		},
	} {
		t.Run(name, func(t *testing.T) {
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
				check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, time.Minute, nil))
				slow = true
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done, closed := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					act(t, wire.Stay(ctx, time.Minute), client)
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
