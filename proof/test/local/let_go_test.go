package local_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Nobody waits behind one of its Client who stands in line and has a fault of its own: then each asks for itself.
func TestNobodyWaitsBehindAFault(t *testing.T) {
	const fault = "-LOADING not yet\r\n"
	for name, isDeaf := range map[string]bool{"its requests fail": false, "its subscription fails": true} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
				var first string // the id of the first waiter
				var isFaulty atomic.Bool
				p := &world.FakeServer{Script: func(run check.Run) string {
					who, _ := run.Waiter()
					switch {
					case world.AsksFirst(run) && !isFaulty.Load():
						return world.HeldBySomebody
					case first == "":
						first = who
						return world.InPlace(1, 1)
					case who == first && isFaulty.Load() && !isDeaf:
						return fault
					case who == first:
						return world.InPlace(1, 1)
					}
					return ":1\r\n"
				}}
				if isDeaf {
					p.Subscribe = func(_ int, channel string) string {
						if isFaulty.Load() {
							return fault
						}
						return world.Subscribed(channel)
					}
				}
				s := &scene{World: &world.World{Client: world.NewClient(t, p.Client(t))}, t: t, keys: []string{"k"}, turns: make(chan world.Turn, 2)}
				ctx, cancel := context.WithCancel(t.Context())
				s.waits(ctx, s.Client, options("first"))
				s.waits(t.Context(), s.Client, options("second"))
				isFaulty.Store(true)
				p.Cut()
				began := time.Now()
				lock := s.wants("second")
				if took := time.Since(began); took > headStart/2 {
					t.Errorf("the second has waited for %s", took)
				}
				check.NoError(t, lock.Release(t.Context()))
				cancel()
				check.Is(t, s.ends("first"), context.Canceled)
				synctest.Wait()
			})
		})
	}
}
