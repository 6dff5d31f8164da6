package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

func TestRefresh(t *testing.T) {
	t.Run("extends and shortens the whole set", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			keys := w.keys("a", "b", "c")
			lock := must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), keys[:2], keys[2:], long, nil))
			for _, ttl := range []time.Duration{10 * long, long / 2} {
				noError(t, lock.Refresh(t.Context(), ttl))
				for _, key := range keys {
					w.wantTTL(t, key, ttl-slack, ttl)
				}
				if left := time.Until(lock.Deadline()); left <= ttl-ttl/100-slack || left > ttl {
					t.Errorf("got deadline in %v, want about %v", left, ttl)
				}
				if got := must[time.Duration](t)(lock.TTL(t.Context())); got <= ttl-slack || got > ttl {
					t.Errorf("got ttl %v, want about %v", got, ttl)
				}
			}
			noError(t, lock.Release(t.Context()))
		})
	})

	for _, stolen := range []struct {
		name  string
		steal func(ctx context.Context, rdb *redis.Client, key string) error
	}{
		{"expired", func(ctx context.Context, rdb *redis.Client, key string) error {
			return rdb.Del(ctx, key).Err()
		}},
		{"stolen", func(ctx context.Context, rdb *redis.Client, key string) error {
			return rdb.Set(ctx, key, "another|somebody", long).Err()
		}},
	} {
		t.Run(stolen.name+": nothing is changed, and the loss is named", func(t *testing.T) {
			scenario(t, func(t *testing.T, w *world) {
				keys := w.keys("a", "b", "c")
				lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), keys, long, nil))
				noError(t, stolen.steal(t.Context(), w.rdb, keys[1]))
				err := lock.Refresh(t.Context(), 10*long)
				wantIs(t, err, redislock.ErrLockNotHeld)
				if !strings.Contains(err.Error(), keys[1]) || strings.Contains(err.Error(), keys[2]) {
					t.Errorf("got error %q, want it to name %q alone", err, keys[1])
				}
				w.wantTTL(t, keys[0], 0, long)
				_, err = lock.TTL(t.Context())
				wantIs(t, err, redislock.ErrLockNotHeld)
				// Lesson: with one key lost, Release failed and the others stayed for the whole ttl.
				wantIs(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
				w.wantFree(t, keys[0], keys[2])
				if stolen.name == "stolen" {
					if got := must[string](t)(w.rdb.Get(t.Context(), keys[1]).Result()); got != "another|somebody" {
						t.Errorf("got value %q of the stolen key, want it untouched", got)
					}
				}
			})
		})
	}

	t.Run("a bad ttl is refused and changes nothing", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, nil))
			// Lesson: Refresh(0) deleted the key and answered nil.
			for _, ttl := range []time.Duration{0, -1, 1<<63 - 1} {
				wantIs(t, lock.Refresh(t.Context(), ttl), redislock.ErrInvalidTTL)
			}
			w.wantTTL(t, w.key("a"), long-slack, long)
			noError(t, lock.Release(t.Context()))
		})
	})

	t.Run("after a release", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, nil))
			noError(t, lock.Release(t.Context()))
			wantIs(t, lock.Refresh(t.Context(), long), redislock.ErrLockNotHeld)
			wantIs(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
			w.wantFree(t, w.key("a"))
		})
	})
}

func TestRead(t *testing.T) {
	t.Run("readers share, a writer is refused", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			one := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a", "b"), long, &redislock.Options{Metadata: "one"}))
			two := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("b", "c"), 2*long, &redislock.Options{Metadata: "two"}))
			_, err := w.client.Obtain(t.Context(), w.keys("x", "b"), long, nil)
			conflict := wantConflict(t, err, w.key("b"), redislock.ModeRead)
			if conflict.Metadata != "two" || conflict.TTL <= long || conflict.TTL > 2*long {
				t.Errorf("got conflict %+v, want the reader whose lease ends last", conflict)
			}
			w.wantFree(t, w.key("x"))
			noError(t, two.Release(t.Context()))
			w.wantFree(t, w.key("c"))
			w.wantTTL(t, w.key("b"), 0, long) // no longer than the reader that is left
			_, err = w.client.Obtain(t.Context(), w.keys("b"), long, nil)
			wantConflict(t, err, w.key("b"), redislock.ModeRead)
			noError(t, one.Release(t.Context()))
			w.wantFree(t, w.keys("a", "b", "c")...)
		})
	})

	t.Run("a reader is refused while somebody writes", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), long, nil))
			_, err := w.client.ObtainRead(t.Context(), w.keys("a", "b"), long, nil)
			wantConflict(t, err, w.key("b"), redislock.ModeWrite)
			w.wantFree(t, w.key("a"))
			noError(t, lock.Release(t.Context()))
		})
	})

	// Lesson: one time-to-live for all readers.
	t.Run("a short reader does not shorten a long one", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			slow := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			quick := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long/2, nil))
			w.wantTTL(t, w.key("a"), long-slack, long)
			noError(t, quick.Refresh(t.Context(), time.Second))
			w.wantTTL(t, w.key("a"), long-slack, long)
			eventually(t, 5*time.Second, "the short lease ends", func() bool {
				_, err := quick.TTL(t.Context())
				return errors.Is(err, redislock.ErrLockNotHeld)
			})
			wantIs(t, quick.Refresh(t.Context(), long), redislock.ErrLockNotHeld)
			if ttl := must[time.Duration](t)(slow.TTL(t.Context())); ttl <= long-slack {
				t.Errorf("got ttl %v of the long reader", ttl)
			}
			noError(t, slow.Release(t.Context()))
			w.wantFree(t, w.key("a"))
		})
	})

	t.Run("a dead reader stops counting when its own lease ends", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), time.Second, nil))
			// Another reader renews all the time: that must not keep the dead one alive.
			live := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			eventually(t, 5*time.Second, "the live reader is alone", func() bool {
				noError(t, live.Refresh(t.Context(), long))
				return live.Upgrade(t.Context()) == nil
			})
			noError(t, live.Release(t.Context()))
		})
	})

	t.Run("a dead reader is not in the way of an Upgrade, also if nobody has renewed since", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), 100*time.Millisecond, nil))
			live := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			eventually(t, 5*time.Second, "the live reader is alone", func() bool { return live.Upgrade(t.Context()) == nil })
			noError(t, live.Release(t.Context()))
		})
	})

	t.Run("mixed sets", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			reader := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("r"), long, nil))
			lock := must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), w.keys("w", "both"), w.keys("r", "both"), long, nil))
			if diff := cmp.Diff(w.keys("w", "both", "r"), lock.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			for _, key := range w.keys("w", "both") { // a key in both lists is a write key
				_, err := w.client.ObtainRead(t.Context(), []string{key}, long, nil)
				wantConflict(t, err, key, redislock.ModeWrite)
			}
			_, err := w.client.ObtainMixed(t.Context(), w.keys("r"), w.keys("free"), long, nil)
			wantConflict(t, err, w.key("r"), redislock.ModeRead)
			w.wantFree(t, w.key("free"))
			noError(t, lock.Release(t.Context()))
			noError(t, reader.Release(t.Context()))
			w.wantFree(t, w.keys("w", "both", "r")...)
		})
	})

	t.Run("many readers, the last one out frees the key", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			var readers []*redislock.Lock
			for i := range 50 {
				readers = append(readers, must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long,
					&redislock.Options{Metadata: fmt.Sprint("reader ", i)})))
			}
			for i, reader := range readers {
				if n := must[int64](t)(w.rdb.ZCard(t.Context(), w.key("a")).Result()); n != int64(len(readers)-i) {
					t.Fatalf("got %d readers, want %d", n, len(readers)-i)
				}
				noError(t, reader.Release(t.Context()))
			}
			w.wantFree(t, w.key("a"))
		})
	})
}

func TestConvert(t *testing.T) {
	t.Run("downgrade lets readers in", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), long, &redislock.Options{Metadata: "me"}))
			noError(t, lock.Downgrade(t.Context()))
			other := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a", "b"), long, nil))
			_, err := w.client.Obtain(t.Context(), w.keys("a"), long, nil)
			wantConflict(t, err, w.key("a"), redislock.ModeRead)
			noError(t, other.Release(t.Context()))
			noError(t, lock.Refresh(t.Context(), long))
			noError(t, lock.Release(t.Context()))
			w.wantFree(t, w.keys("a", "b")...)
		})
	})

	t.Run("upgrade of the sole reader", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), w.keys("w"), w.keys("r"), long, &redislock.Options{Metadata: "me"}))
			noError(t, lock.Upgrade(t.Context()))
			for _, key := range w.keys("w", "r") {
				conflict := wantConflict(t, func() error {
					_, err := w.client.ObtainRead(t.Context(), []string{key}, long, nil)
					return err
				}(), key, redislock.ModeWrite)
				if conflict.Metadata != "me" {
					t.Errorf("got metadata %q after the upgrade, want it kept", conflict.Metadata)
				}
			}
			noError(t, lock.Downgrade(t.Context()))
			noError(t, lock.Upgrade(t.Context()))
			noError(t, lock.Release(t.Context()))
			w.wantFree(t, w.keys("w", "r")...)
		})
	})

	t.Run("upgrade is refused while another reads, and changes nothing", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a", "b"), long, nil))
			other := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("b"), long, &redislock.Options{Metadata: "other"}))
			conflict := wantConflict(t, lock.Upgrade(t.Context()), w.key("b"), redislock.ModeRead)
			if conflict.Metadata != "other" {
				t.Errorf("got metadata %q", conflict.Metadata)
			}
			third := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil)) // still a reader
			noError(t, third.Release(t.Context()))
			noError(t, lock.Refresh(t.Context(), long))
			noError(t, other.Release(t.Context()))
			noError(t, lock.Upgrade(t.Context()))
			noError(t, lock.Release(t.Context()))
		})
	})

	for _, operation := range []string{"upgrade", "downgrade"} {
		t.Run(operation+" of a set of which a key is lost changes nothing", func(t *testing.T) {
			scenario(t, func(t *testing.T, w *world) {
				lock := must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), w.keys("a", "b"), w.keys("c"), long, nil))
				noError(t, w.rdb.Del(t.Context(), w.key("b")).Err())
				var err error
				if operation == "upgrade" {
					err = lock.Upgrade(t.Context())
				} else {
					err = lock.Downgrade(t.Context())
				}
				wantIs(t, err, redislock.ErrLockNotHeld)
				if !strings.Contains(err.Error(), w.key("b")) {
					t.Errorf("got error %q, want it to name the key", err)
				}
				w.wantFree(t, w.key("b"))
				for key, want := range map[string]string{w.key("a"): "string", w.key("c"): "zset"} {
					if got := must[string](t)(w.rdb.Type(t.Context(), key).Result()); got != want {
						t.Errorf("got type %q of %q, want %q", got, key, want)
					}
				}
				wantIs(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
				w.wantFree(t, w.keys("a", "c")...)
			})
		})
	}
}
