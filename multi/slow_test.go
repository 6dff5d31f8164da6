package multi_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// A lag has something happen before or after each command of a client. It is a relay
// for bubbles, where connections to a real one would hold up the clock.
type lag struct {
	before, after atomic.Pointer[func()] // nil: nothing
}

func (l *lag) hook() check.Around {
	return check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		before, after := l.before.Load(), l.after.Load()
		if before != nil {
			(*before)()
		}
		err := send(cmds)
		if after != nil {
			(*after)()
		}
		return err
	}}
}

// lagging runs fn in a bubble, with lags before the first two of the three parts. Nothing is left to be
// loaded, so every operation is one command.
func lagging(t *testing.T, fn func(t *testing.T, w *world, a, b *lag)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mini := redistest.PipeMini(t)
		w := newWorld(t, mini)
		lags := []*lag{{}, {}}
		for i, l := range lags {
			rdb := mini.Client(t)
			rdb.AddHook(l.hook())
			w.clients[i] = w.newClient(t, rdb)
		}
		w.warmUp(t)
		fn(t, w, lags[0], lags[1])
	})
}

// late has answers come late.
func (l *lag) late(d time.Duration) {
	wait := func() { time.Sleep(d) }
	l.after.Store(&wait)
}

func TestSlowPart(t *testing.T) {
	const ttl = time.Second

	t.Run("leases that have aged are refreshed before the lock is returned", func(t *testing.T) {
		lagging(t, func(t *testing.T, w *world, _, b *lag) {
			b.late(ttl / 2)
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), ttl, nil))
			if left := time.Until(lock.Deadline()); left <= 0 {
				t.Errorf("the lock is over since %v", -left)
			}
			events := w.took()
			if !slices.Contains(events, "refreshed a") || !slices.Contains(events, "refreshed b") {
				t.Errorf("got events %q, want the parts a and b refreshed", events)
			}
			if left := must[time.Duration](t)(w.rdb.PTTL(bounded(t), w.key("a")).Result()); left < ttl/2 {
				t.Errorf("got ttl %v of the first part", left)
			}
			b.late(0)
			noError(t, lock.Release(bounded(t)))
			w.wantFree(t, "a", "b", "c")
		})
	})

	t.Run("fresh ones are left alone", func(t *testing.T) {
		lagging(t, func(t *testing.T, w *world, _, b *lag) {
			b.late(ttl * 3 / 10)
			began := time.Now()
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), ttl, nil))
			wantEvents(t, w.took(), []string{"obtained a", "obtained b", "obtained c"})
			if at := lock.Deadline().Sub(began); at > ttl {
				t.Errorf("got a deadline %v after it began, want that of the first part, which has %v", at, ttl)
			}
			noError(t, lock.Release(bounded(t)))
		})
	})

	t.Run("nor one that is over when the others have been refreshed", func(t *testing.T) {
		lagging(t, func(t *testing.T, w *world, a, b *lag) {
			parts := []multi.Part{w.part(0, "a"), w.part(1, "b")}
			b.late(ttl / 4)
			var answered atomic.Int64
			slower := func() {
				if answered.Add(1) == 1 {
					time.Sleep(ttl / 4)
				} else {
					time.Sleep(ttl * 85 / 100)
				}
			}
			a.after.Store(&slower)
			_, err := multi.Obtain(bounded(t), parts, ttl, nil)
			wantIs(t, err, redislock.ErrNotObtained)
			if !strings.Contains(err.Error(), "its lease was over") || !strings.Contains(err.Error(), "part 2 of 2") {
				t.Errorf("got error %q", err)
			}
			if !slices.Contains(w.took(), "refreshed a") {
				t.Error("the first part was not refreshed")
			}
			w.wantSoonFree(t, "a", "b")
		})
	})

	for _, watchdog := range []bool{false, true} {
		name := map[bool]string{false: "without", true: "with"}[watchdog]
		t.Run("a lease that is over is never returned, "+name+" a watchdog", func(t *testing.T) {
			lagging(t, func(t *testing.T, w *world, _, b *lag) {
				// The first part is lost for good while the second is on its way.
				lose := func() {
					w.rdb.Del(context.Background(), w.key("a"))
					time.Sleep(ttl / 2)
				}
				b.before.Store(&lose)
				lock, err := multi.Obtain(bounded(t), w.abc(), ttl, &redislock.Options{Watchdog: watchdog})
				if watchdog {
					// It ends while the second part is asked for, whose outcome is open then.
					wantIs(t, err, redislock.ErrLockLost, redislock.ErrUnknownOutcome)
				} else {
					wantIs(t, err, redislock.ErrNotObtained, redislock.ErrLockNotHeld)
				}
				if lock != nil {
					t.Errorf("got a lock until %v", lock.Deadline())
				}
				w.wantSoonFree(t, "a", "b", "c")
			})
		})
	}
}
