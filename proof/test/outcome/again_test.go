package outcome_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// wantReleased checks that an error says that the lock was released, and does not say that it was lost.
func wantReleased(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, redislock.ErrLockNotHeld) || !strings.Contains(err.Error(), "released already") ||
		strings.Contains(err.Error(), "lost") {
		t.Errorf("%s: got error %v, want one that says that it was released", what, err)
	}
}

// Every method of a lock that was released says so, and sends nothing.
func TestAfterRelease(t *testing.T) {
	for name, release := range map[string]func(w *world.World, lock *redislock.Lock) error{
		"release": func(_ *world.World, lock *redislock.Lock) error { return lock.Release(context.Background()) },
		"release of what ReleaseKeys has left": func(w *world.World, lock *redislock.Lock) error {
			if err := lock.ReleaseKeys(context.Background(), []string{w.Key("a")}); err != nil {
				return err
			}
			return lock.Release(context.Background())
		},
		"ReleaseKeys of all": func(_ *world.World, lock *redislock.Lock) error {
			return lock.ReleaseKeys(context.Background(), lock.Keys())
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.Scenario(t, func(t *testing.T, w *world.World) {
				lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a", "b"), Read: w.Keys("c")}, world.Long, world.Fenced()))
				check.NoError(t, release(w, lock))
				w.WantFree(t, w.Keys("a", "b", "c")...)
				other := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b", "c"), world.Long, nil))
				sent := check.Count(w.RDB, "eval")
				ctx := t.Context()
				_, err := lock.TTL(ctx)
				for what, err := range map[string]error{
					"release": lock.Release(ctx), "ReleaseKeys": lock.ReleaseKeys(ctx, []string{w.Key("b")}), "ttl": err,
					"refresh": lock.Refresh(ctx, world.Long), "upgrade": lock.Upgrade(ctx), "downgrade": lock.Downgrade(ctx),
					"RaiseFence": lock.RaiseFence(ctx, 1<<51),
				} {
					wantReleased(t, what, err)
				}
				if n := sent.Load(); n != 0 {
					t.Errorf("%d requests were sent for a lock that was released", n)
				}
				check.NoError(t, other.Release(t.Context()))
			})
		})
	}
	t.Run("a lock that asks for nothing but its keys", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), world.Long, nil))
			ctx := lock.Context(t.Context())
			check.NoError(t, lock.Release(t.Context()))
			if why := context.Cause(ctx); !errors.Is(why, context.Canceled) {
				t.Errorf("its context has ended with %v", why)
			}
			sent := check.Count(w.RDB, "eval")
			wantReleased(t, "release", lock.Release(t.Context()))
			if n := sent.Load(); n != 0 {
				t.Errorf("%d requests were sent for a lock that was released", n)
			}
		})
	})
	t.Run("a Release that told a loss tells it again", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), world.Long, nil))
			check.NoError(t, w.RDB.Del(t.Context(), w.Key("b")).Err())
			first := lock.Release(t.Context())
			check.Is(t, first, redislock.ErrLockNotHeld)
			second := lock.Release(t.Context())
			if second == nil || second.Error() != first.Error() {
				t.Errorf("got error %v, then %v", first, second)
			}
		})
	})
}

// onRelease has every release sent in its own way, those of a clean-up too.
func onRelease(rdb *redis.Client, fn func(send func() error) error) {
	rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		if check.Among(cmds, "release") {
			return fn(func() error { return send(cmds) })
		}
		return send(cmds)
	}})
}

// A Release after one without an answer asks again: it frees what the first one has not freed, and counts what the
// first one has freed as its own work.
func TestReleaseAfterUnknownOutcome(t *testing.T) {
	for name, arrives := range map[string]bool{"the first was not executed": false, "the first was executed": true} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
				var well atomic.Bool
				onRelease(w.RDB, func(send func() error) error {
					if well.Load() {
						return send()
					}
					if arrives {
						if err := send(); err != nil {
							return err // it does not know the script yet
						}
					}
					return io.EOF
				})
				check.Is(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome, io.EOF)
				if left := w.RDB.Exists(t.Context(), w.Key("a")).Val() == 1; left == arrives {
					t.Fatalf("the key is there: %t", left)
				}
				well.Store(true)
				check.NoError(t, lock.Release(t.Context()))
				w.WantFree(t, w.Key("a"))
				wantReleased(t, "a third Release", lock.Release(t.Context()))
			})
		})
	}
	t.Run("the server was not ready, and the clean-up has come first", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
			mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
			if err := lock.Release(t.Context()); err == nil || errors.Is(err, redislock.ErrLockNotHeld) {
				t.Fatalf("got error %v", err)
			}
			mini.Miniredis().SetError("")
			time.Sleep(time.Minute)
			w.WantFree(t, w.Key("a"))
			check.NoError(t, lock.Release(t.Context()))
		})
	})
	t.Run("its first try came after the deadline", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Minute, nil))
			time.Sleep(2 * time.Minute)
			var lost atomic.Int64
			onRelease(w.RDB, func(send func() error) error {
				if lost.Add(1) <= 4 {
					return io.EOF
				}
				return send()
			})
			check.Is(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome)
			err := lock.Release(t.Context())
			check.Is(t, err, redislock.ErrLockNotHeld)
			if !strings.Contains(err.Error(), "lost "+`"`+w.Key("a")) {
				t.Errorf("got error %v, want one that names the key", err)
			}
		})
	})
}

// If the lock has no key any more, an unanswered try of its Release may have freed them: but only if it had all keys when
// the try was sent, and none is left. Otherwise it is a loss.
func TestLossBehindUnansweredRelease(t *testing.T) {
	for name, test := range map[string]struct {
		lose    func(t *testing.T, w *world.World)
		arrives bool // the first try
		lost    string
	}{
		"nothing was lost": {func(*testing.T, *world.World) {}, true, ""},
		"one of two keys": {func(t *testing.T, w *world.World) {
			t.Helper()
			check.NoError(t, w.RDB.Del(t.Context(), w.Key("b")).Err())
		}, false, "b"},
		"the deadline was over": {func(*testing.T, *world.World) { time.Sleep(2 * time.Minute) }, true, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Minute, nil))
				test.lose(t, w)
				var first atomic.Bool
				onRelease(w.RDB, func(send func() error) error {
					if first.Load() {
						return send()
					}
					if test.arrives {
						if err := send(); err != nil {
							return err
						}
					}
					first.Store(true)
					return io.EOF
				})
				err := lock.Release(t.Context())
				w.WantFree(t, w.Keys("a", "b")...)
				if test.lost == "" {
					check.NoError(t, err)
					return
				}
				check.Is(t, err, redislock.ErrLockNotHeld)
				if !strings.Contains(err.Error(), "lost "+`"`+w.Key(test.lost)) {
					t.Errorf("got error %v, want one that names %q", err, w.Key(test.lost))
				}
			})
		})
	}
}
