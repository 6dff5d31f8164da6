package topology_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

const tryAgain = "TRYAGAIN Multiple keys request during rehashing of slot"

// A patientCall is an operation on a lock of {a, b}, and how long it waits for a slot that moves.
type patientCall struct {
	do    func(ctx context.Context, w *world.World, lock *redislock.Lock) error
	waits time.Duration
}

// patientCalls are all that ask Redis, under a lease of a minute.
var patientCalls = map[string]patientCall{
	"obtain": {func(ctx context.Context, w *world.World, _ *redislock.Lock) error {
		_, err := w.Client.Obtain(ctx, w.Keys("c", "d"), time.Minute, nil)
		return err
	}, 10 * time.Second},
	"obtain read": {func(ctx context.Context, w *world.World, _ *redislock.Lock) error {
		_, err := w.Client.ObtainRead(ctx, w.Keys("c", "d"), time.Minute, &redislock.Options{RetryStrategy: redislock.NoRetry()})
		return err
	}, 10 * time.Second},
	"obtain in line": {func(ctx context.Context, w *world.World, _ *redislock.Lock) error {
		_, err := w.Client.Obtain(ctx, w.Keys("c", "d"), time.Minute, &redislock.Options{Queue: true})
		return err
	}, 10 * time.Second},
	"refresh": {func(ctx context.Context, _ *world.World, lock *redislock.Lock) error {
		return lock.Refresh(ctx, time.Minute)
	}, window(time.Minute)},
	"refresh attached": {func(ctx context.Context, w *world.World, lock *redislock.Lock) error {
		return w.Client.Attach(lock.Keys(), lock.Token()).Refresh(ctx, time.Minute)
	}, 10 * time.Second},
	"ttl": {func(ctx context.Context, _ *world.World, lock *redislock.Lock) error {
		_, err := lock.TTL(ctx)
		return err
	}, 10 * time.Second},
	"downgrade": {func(ctx context.Context, _ *world.World, lock *redislock.Lock) error {
		return lock.Downgrade(ctx)
	}, 10 * time.Second},
	"raise fence": {func(ctx context.Context, _ *world.World, lock *redislock.Lock) error {
		return lock.RaiseFence(ctx, 7)
	}, 10 * time.Second},
	"inspect": {func(ctx context.Context, w *world.World, _ *redislock.Lock) error {
		_, err := w.Client.Inspect(ctx, w.Keys("a", "b"))
		return err
	}, 10 * time.Second},
	"release keys": {func(ctx context.Context, w *world.World, lock *redislock.Lock) error {
		return lock.ReleaseKeys(ctx, []string{w.Key("a")})
	}, 10 * time.Second},
	"release": {func(ctx context.Context, _ *world.World, lock *redislock.Lock) error {
		return lock.Release(ctx)
	}, 10 * time.Second},
}

func window(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// A slot that moves is waited for, longer than other states that pass; but not for ever, because a
// move can be stuck, and not after the end of ctx. Then nothing was done, and that is known.
func TestMovingSlotIsWaitedFor(t *testing.T) {
	for name, call := range patientCalls {
		// under does it while the server says so, for at most so long.
		under := func(t *testing.T, w *world.World, mini *redistest.Mini, within, says time.Duration) (time.Duration, error) {
			t.Helper()
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Minute, &redislock.Options{Fenced: true}))
			mini.Miniredis().SetError(tryAgain)
			over := time.AfterFunc(says, func() { mini.Miniredis().SetError("") })
			defer func() {
				over.Stop()
				mini.Miniredis().SetError("")
			}()
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			err := call.do(ctx, w, lock)
			return time.Since(began), err
		}
		t.Run(name+" and it ends", func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				took, err := under(t, w, mini, time.Hour, 8*time.Second)
				check.NoError(t, err)
				if took < 8*time.Second || took > 9*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
		t.Run(name+" and it is stuck", func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				took, err := under(t, w, mini, time.Hour, time.Hour)
				if !isTryAgain(err) || took < call.waits || took > call.waits+2*time.Second {
					t.Errorf("got error %v after %v, want the server's after %v", err, took, call.waits)
				}
			})
		})
		t.Run(name+" until Close", func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				time.AfterFunc(5*time.Second, w.Client.Close)
				took, err := under(t, w, mini, time.Hour, time.Hour)
				if err == nil || took < 5*time.Second || took > 7*time.Second {
					t.Errorf("got error %v after %v", err, took)
				}
				w.Client.Close()
			})
		})
		t.Run(name+" until ctx ends", func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				took, err := under(t, w, mini, 3*time.Second, time.Hour)
				if !isTryAgain(err) || !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
					t.Errorf("got error %v after %v, want the server's and that of ctx", err, took)
				}
				if strings.Count(err.Error(), "deadline") > 1 {
					t.Errorf("got error %q", err)
				}
				synctest.Wait()
				w.WantFree(t, w.Keys("c", "d")...)
				time.Sleep(time.Minute) // what was not released is seen to
				w.WantFree(t, w.Keys("a", "b")...)
			})
		})
	}
}
