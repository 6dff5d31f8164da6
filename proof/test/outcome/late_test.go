package outcome_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A delayed is a first request that is kept on its way to the server until goOn is called. Nobody else asks
// that server meanwhile.
type delayed struct {
	l        *world.Lossy
	released atomic.Bool // a release was answered
	goOn     func()      // lets the request go on
}

// newDelayed keeps the first request that is sent, and calls seen when it has come.
func newDelayed(t *testing.T, l *world.Lossy, seen func()) *delayed {
	t.Helper()
	held := make(chan struct{})
	d := &delayed{l: l, goOn: sync.OnceFunc(func() { close(held) })}
	t.Cleanup(d.goOn)
	var scripts atomic.Int64
	l.Relay.OnRequest(func(name string, args []string) {
		if world.OperationOf(name, args) == "" || scripts.Add(1) > 1 {
			return
		}
		seen()
		<-held
	})
	l.RDB.AddHook(check.Around{After: func(cmd redis.Cmder) {
		if cmd.Err() == nil && check.RunIn(cmd).Of("release") {
			d.released.Store(true)
		}
	}})
	return d
}

// executed counts the scripts that the server has run.
func (d *delayed) executed(t *testing.T) int {
	t.Helper()
	return world.Calls(t, d.l.Direct)["evalsha"]
}

// arrivesForNothing lets the request go on, and waits until the server has executed it. The key is free, and stays so.
func (d *delayed) arrivesForNothing(t *testing.T) {
	t.Helper()
	if d.l.Locked(t) {
		t.Fatal("the key is there after its release, want the request overtaken")
	}
	before := d.executed(t)
	d.goOn()
	check.Eventually(t, world.Soon, "the request has arrived", func() bool { return d.executed(t) > before })
	if d.l.Locked(t) {
		t.Error("a request has locked the key after what was sent later was answered")
	}
}

// DESIGN section 11: a delayed Obtain arrives after its own clean-up.
func TestObtainLandsAfterCleanUp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"time-out", "cancelled", "read"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := world.NewLossyAt(t, redistest.Start(t, redistest.Redis), world.Impatient)
			obtain := l.Client.Obtain
			if name == "read" {
				obtain = l.Client.ObtainRead
			}
			// The server has to know the script, or the request would do nothing when it arrives.
			warm := check.Must[*redislock.Lock](t)(obtain(t.Context(), []string{l.Key + "warm"}, world.Long, nil))
			check.NoError(t, warm.Release(t.Context()))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d := newDelayed(t, l, func() {
				if name == "cancelled" {
					cancel()
				}
			})
			_, err := obtain(ctx, []string{l.Key}, world.Long, nil)
			check.Is(t, err, redislock.ErrUnknownOutcome)
			if name == "cancelled" {
				check.Is(t, err, context.Canceled)
			}
			check.Eventually(t, world.Soon, "there was a clean-up", d.released.Load)
			d.arrivesForNothing(t)
		})
	}
}
