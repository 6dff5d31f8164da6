package multi_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/multi"
)

func TestQueue(t *testing.T) {
	queue := &redislock.Options{Queue: true, Watchdog: true}

	t.Run("what is held stays held while a part is waited for", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			const ttl = 600 * time.Millisecond
			other := w.block(t, long, "b")
			got := make(chan error, 1)
			var lock *multi.Lock
			go func() {
				var err error
				lock, err = multi.Obtain(bounded(t), w.abc(), ttl, queue)
				got <- err
			}()
			eventually(t, soon, "somebody stands in line", func() bool { return w.inLine(t, "b") == 1 })
			for end := time.Now().Add(2 * ttl); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				w.wantHeld(t, "a")
				w.wantFree(t, "c")
			}
			noError(t, other.Release(bounded(t)))
			noError(t, receive(t, got))
			w.wantHeld(t, "a", "b", "c")
			if left := time.Until(lock.Deadline()); left <= 0 {
				t.Errorf("the lock is over since %v", -left)
			}
			noError(t, lock.Release(bounded(t)))
			w.wantFree(t, "a", "b", "c")
		})
	})

	t.Run("a cancelled wait leaves the line and what it held", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			other := w.block(t, long, "c")
			defer other.Release(bounded(t))
			ctx, cancel := context.WithCancel(bounded(t))
			got := make(chan error, 1)
			go func() {
				_, err := multi.Obtain(ctx, w.abc(), long, queue)
				got <- err
			}()
			eventually(t, soon, "somebody stands in line", func() bool { return w.inLine(t, "c") == 1 })
			w.wantHeld(t, "a", "b")
			cancel()
			err := receive(t, got)
			wantConflict(t, err, w.key("c"), "part 3 of 3")
			wantIs(t, err, context.Canceled)
			w.wantFree(t, "a", "b")
			eventually(t, soon, "the line is empty", func() bool { return w.inLine(t, "c") == 0 })
		})
	})

	t.Run("a part that is lost meanwhile ends the waiting", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			other := w.block(t, long, "c")
			defer other.Release(bounded(t))
			got := make(chan error, 1)
			go func() {
				_, err := multi.Obtain(bounded(t), w.abc(), 300*time.Millisecond, queue)
				got <- err
			}()
			eventually(t, soon, "somebody stands in line", func() bool { return w.inLine(t, "c") == 1 })
			noError(t, w.rdb.Del(bounded(t), w.key("a")).Err())
			err := receive(t, got)
			wantIs(t, err, redislock.ErrNotObtained, redislock.ErrLockLost)
			w.wantFree(t, "a", "b")
			eventually(t, soon, "the line is empty", func() bool { return w.inLine(t, "c") == 0 })
		})
	})

	t.Run("and has the whole begin anew if the strategy says so", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			other := w.block(t, long, "b")
			var anew atomic.Bool
			opt := *queue
			opt.RetryStrategy = func() redislock.BackOff {
				return wait(func() time.Duration { anew.Store(true); return time.Millisecond })
			}
			got := make(chan error, 1)
			go func() {
				lock, err := multi.Obtain(bounded(t), w.abc(), 300*time.Millisecond, &opt)
				if err == nil {
					err = lock.Release(bounded(t))
				}
				got <- err
			}()
			eventually(t, soon, "somebody stands in line", func() bool { return w.inLine(t, "b") == 1 })
			noError(t, w.rdb.Del(bounded(t), w.key("a")).Err())
			eventually(t, soon, "it begins anew", func() bool { return anew.Load() })
			noError(t, other.Release(bounded(t)))
			noError(t, receive(t, got))
			w.wantFree(t, "a", "b", "c")
		})
	})
}

// inLine reports how many wait in line for a key; guards stand behind all places.
func (w *world) inLine(t *testing.T, name string) int64 {
	t.Helper()
	return must[int64](t)(w.rdb.ZCount(bounded(t), "redislock:line:{"+w.key(name)+"}", "-inf", "(4503599627370496").Result())
}

// An observer sees that whoever holds some parts waits for the next one.
func TestCallerIsSeen(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		other := w.block(t, long, "c")
		ctx := redislock.WithCaller(bounded(t), "job-7")
		got := make(chan error, 1)
		go func() {
			lock, err := multi.Obtain(ctx, w.abc(), long, &redislock.Options{Queue: true, Watchdog: true})
			if err == nil {
				err = lock.Release(ctx)
			}
			got <- err
		}()
		eventually(t, soon, "somebody stands in line", func() bool { return w.inLine(t, "c") == 1 })
		states := must[[]redislock.KeyState](t)(w.clients[0].Inspect(bounded(t), []string{w.key("a"), w.key("c")}))
		holds, waits := states[0].Holders[0].Caller, states[1].Line[0].Caller
		if holds != "job-7" || waits != "job-7" || states[1].Holders[0].Caller != "" {
			t.Errorf("%q holds and %q waits, want job-7 for both", holds, waits)
		}
		noError(t, other.Release(bounded(t)))
		noError(t, receive(t, got))
	})
}
