package quick_test

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
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestRefresh(t *testing.T) {
	t.Run("extends and shortens the whole set", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			keys := w.Keys("a", "b", "c")
			lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: keys[:2], Read: keys[2:]}, world.Long, nil))
			for _, ttl := range []time.Duration{10 * world.Long, world.Long / 2} {
				check.NoError(t, lock.Refresh(t.Context(), ttl))
				for _, key := range keys {
					w.WantTTL(t, key, ttl-world.Slack, ttl)
				}
				if left := time.Until(lock.Deadline()); left <= ttl-ttl/100-world.Slack || left > ttl {
					t.Errorf("got deadline in %v, want about %v", left, ttl)
				}
				if got := check.Must[time.Duration](t)(lock.TTL(t.Context())); got <= ttl-world.Slack || got > ttl {
					t.Errorf("got ttl %v, want about %v", got, ttl)
				}
			}
			check.NoError(t, lock.Release(t.Context()))
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
			return rdb.Set(ctx, key, "another|somebody", world.Long).Err()
		}},
	} {
		t.Run(stolen.name+": nothing is changed, and the loss is named", func(t *testing.T) {
			world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
				keys := w.Keys("a", "b", "c")
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), keys, world.Long, nil))
				check.NoError(t, stolen.steal(t.Context(), w.RDB, keys[1]))
				err := lock.Refresh(t.Context(), 10*world.Long)
				check.Is(t, err, redislock.ErrLockNotHeld)
				if !strings.Contains(err.Error(), keys[1]) || strings.Contains(err.Error(), keys[2]) {
					t.Errorf("got error %q, want it to name %q alone", err, keys[1])
				}
				w.WantTTL(t, keys[0], 0, world.Long)
				_, err = lock.TTL(t.Context())
				check.Is(t, err, redislock.ErrLockNotHeld)
				// Lesson: with one key lost, Release failed and the others stayed for the whole ttl.
				check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
				w.WantFree(t, keys[0], keys[2])
				if stolen.name == "stolen" {
					if got := check.Must[string](t)(w.RDB.Get(t.Context(), keys[1]).Result()); got != "another|somebody" {
						t.Errorf("got value %q of the stolen key, want it untouched", got)
					}
				}
			})
		})
	}
}

// brief is a ttl that ends within a test, and not before its Obtain is answered on a machine that is busy.
const brief = 6 * time.Second

func TestRead(t *testing.T) {
	t.Run("readers share, a writer is refused", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			one := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a", "b"), world.Long, &redislock.Options{Metadata: "one"}))
			two := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("b", "c"), 2*world.Long, &redislock.Options{Metadata: "two"}))
			_, err := w.Client.Obtain(t.Context(), w.Keys("x", "b"), world.Long, nil)
			conflict := world.WantConflict(t, err, w.Key("b"), redislock.ModeRead)
			if conflict.Metadata != "two" || conflict.TTL <= world.Long || conflict.TTL > 2*world.Long {
				t.Errorf("got conflict %+v, want the reader whose lease ends last", conflict)
			}
			w.WantFree(t, w.Key("x"))
			check.NoError(t, two.Release(t.Context()))
			w.WantFree(t, w.Key("c"))
			w.WantTTL(t, w.Key("b"), 0, world.Long) // no longer than the reader that is left
			_, err = w.Client.Obtain(t.Context(), w.Keys("b"), world.Long, nil)
			world.WantConflict(t, err, w.Key("b"), redislock.ModeRead)
			check.NoError(t, one.Release(t.Context()))
			w.WantFree(t, w.Keys("a", "b", "c")...)
		})
	})

	t.Run("a reader is refused while somebody writes", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("b"), world.Long, nil))
			_, err := w.Client.ObtainRead(t.Context(), w.Keys("a", "b"), world.Long, nil)
			world.WantConflict(t, err, w.Key("b"), redislock.ModeWrite)
			w.WantFree(t, w.Key("a"))
			check.NoError(t, lock.Release(t.Context()))
		})
	})

	// Lesson: one time-to-live for all readers.
	t.Run("a short reader does not shorten a long one", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			slow := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
			quick := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long/2, nil))
			w.WantTTL(t, w.Key("a"), world.Long-world.Slack, world.Long)
			check.NoError(t, quick.Refresh(t.Context(), brief))
			w.WantTTL(t, w.Key("a"), world.Long-world.Slack, world.Long)
			check.Eventually(t, 2*brief, "the short lease ends", func() bool {
				_, err := quick.TTL(t.Context())
				return errors.Is(err, redislock.ErrLockNotHeld)
			})
			check.Is(t, quick.Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld)
			if ttl := check.Must[time.Duration](t)(slow.TTL(t.Context())); ttl <= world.Long-world.Slack {
				t.Errorf("got ttl %v of the long reader", ttl)
			}
			check.NoError(t, slow.Release(t.Context()))
			w.WantFree(t, w.Key("a"))
		})
	})

	t.Run("a dead reader stops counting when its own lease ends", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), brief, nil))
			// Another reader renews all the time: that must not keep the dead one alive.
			live := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
			check.Eventually(t, 2*brief, "the live reader is alone", func() bool {
				check.NoError(t, live.Refresh(t.Context(), world.Long))
				return live.Upgrade(t.Context()) == nil
			})
			check.NoError(t, live.Release(t.Context()))
		})
	})

	t.Run("a dead reader is not in the way of an Upgrade, also if nobody has renewed since", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), brief, nil))
			live := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
			check.Eventually(t, 2*brief, "the live reader is alone", func() bool { return live.Upgrade(t.Context()) == nil })
			check.NoError(t, live.Release(t.Context()))
		})
	})

	t.Run("mixed sets", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			reader := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("r"), world.Long, nil))
			lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("w", "both"), Read: w.Keys("r", "both")}, world.Long, nil))
			if diff := cmp.Diff(w.Keys("w", "both", "r"), lock.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			for _, key := range w.Keys("w", "both") { // a key in both lists is a write key
				_, err := w.Client.ObtainRead(t.Context(), []string{key}, world.Long, nil)
				world.WantConflict(t, err, key, redislock.ModeWrite)
			}
			_, err := w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("r"), Read: w.Keys("free")}, world.Long, nil)
			world.WantConflict(t, err, w.Key("r"), redislock.ModeRead)
			w.WantFree(t, w.Key("free"))
			check.NoError(t, lock.Release(t.Context()))
			check.NoError(t, reader.Release(t.Context()))
			w.WantFree(t, w.Keys("w", "both", "r")...)
		})
	})

	t.Run("many readers, the last one out frees the key", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			var readers []*redislock.Lock
			for i := range 50 {
				readers = append(readers, check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long,
					&redislock.Options{Metadata: fmt.Sprint("reader ", i)})))
			}
			for i, reader := range readers {
				if n := check.Must[int64](t)(w.RDB.ZCard(t.Context(), w.Key("a")).Result()); n != int64(len(readers)-i) {
					t.Fatalf("got %d readers, want %d", n, len(readers)-i)
				}
				check.NoError(t, reader.Release(t.Context()))
			}
			w.WantFree(t, w.Key("a"))
		})
	})
}

func TestConvert(t *testing.T) {
	t.Run("downgrade lets readers in", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), world.Long, &redislock.Options{Metadata: "me"}))
			check.NoError(t, lock.Downgrade(t.Context()))
			other := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a", "b"), world.Long, nil))
			_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil)
			world.WantConflict(t, err, w.Key("a"), redislock.ModeRead)
			check.NoError(t, other.Release(t.Context()))
			check.NoError(t, lock.Refresh(t.Context(), world.Long))
			check.NoError(t, lock.Release(t.Context()))
			w.WantFree(t, w.Keys("a", "b")...)
		})
	})

	t.Run("upgrade of the sole reader", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("w"), Read: w.Keys("r")}, world.Long, &redislock.Options{Metadata: "me"}))
			check.NoError(t, lock.Upgrade(t.Context()))
			for _, key := range w.Keys("w", "r") {
				conflict := world.WantConflict(t, func() error {
					_, err := w.Client.ObtainRead(t.Context(), []string{key}, world.Long, nil)
					return err
				}(), key, redislock.ModeWrite)
				if conflict.Metadata != "me" {
					t.Errorf("got metadata %q after the upgrade, want it kept", conflict.Metadata)
				}
			}
			check.NoError(t, lock.Downgrade(t.Context()))
			check.NoError(t, lock.Upgrade(t.Context()))
			check.NoError(t, lock.Release(t.Context()))
			w.WantFree(t, w.Keys("w", "r")...)
		})
	})

	t.Run("upgrade is refused while another reads, and changes nothing", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			lock := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a", "b"), world.Long, nil))
			other := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("b"), world.Long, &redislock.Options{Metadata: "other"}))
			conflict := world.WantConflict(t, lock.Upgrade(t.Context()), w.Key("b"), redislock.ModeRead)
			if conflict.Metadata != "other" {
				t.Errorf("got metadata %q", conflict.Metadata)
			}
			third := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil)) // still a reader
			check.NoError(t, third.Release(t.Context()))
			check.NoError(t, lock.Refresh(t.Context(), world.Long))
			check.NoError(t, other.Release(t.Context()))
			check.NoError(t, lock.Upgrade(t.Context()))
			check.NoError(t, lock.Release(t.Context()))
		})
	})

	for _, operation := range []string{"upgrade", "downgrade"} {
		t.Run(operation+" of a set of which a key is lost changes nothing", func(t *testing.T) {
			world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
				lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a", "b"), Read: w.Keys("c")}, world.Long, nil))
				check.NoError(t, w.RDB.Del(t.Context(), w.Key("b")).Err())
				var err error
				if operation == "upgrade" {
					err = lock.Upgrade(t.Context())
				} else {
					err = lock.Downgrade(t.Context())
				}
				check.Is(t, err, redislock.ErrLockNotHeld)
				if !strings.Contains(err.Error(), w.Key("b")) {
					t.Errorf("got error %q, want it to name the key", err)
				}
				w.WantFree(t, w.Key("b"))
				for key, want := range map[string]string{w.Key("a"): "string", w.Key("c"): "zset"} {
					if got := check.Must[string](t)(w.RDB.Type(t.Context(), key).Result()); got != want {
						t.Errorf("got type %q of %q, want %q", got, key, want)
					}
				}
				check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
				w.WantFree(t, w.Keys("a", "c")...)
			})
		})
	}
}
