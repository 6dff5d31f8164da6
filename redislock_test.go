package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// What tests say most often.
var (
	noError    = check.NoError
	wantIs     = check.Is
	eventually = check.Eventually
)

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return check.Must[T](t)
}

func TestMain(m *testing.M) { redistest.Main(m) }

// A world is what one scenario has: a server, and keys that no other scenario uses.
type world struct {
	rdb    *redis.Client
	client *redislock.Client
	prefix string
}

// worlds tells the runs of one test apart: the shared servers keep what it leaves.
var worlds atomic.Int64

func newWorld(t *testing.T, b redistest.Backend, opts ...redislock.ClientOption) *world {
	t.Helper()
	rdb := b.Client(t)
	w := &world{rdb: rdb, client: redislock.New(rdb, opts...), prefix: fmt.Sprintf("%s#%d:", t.Name(), worlds.Add(1))}
	t.Cleanup(w.client.Close)
	return w
}

// key names a key of the scenario.
func (w *world) key(name string) string { return w.prefix + name }

func (w *world) keys(names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = w.key(name)
	}
	return keys
}

// scenario runs fn on every kind of server.
func scenario(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) { fn(t, newWorld(t, b)) })
}

// A tally is a hook that counts the commands a client sends whose names begin with the prefix.
type tally struct {
	prefix string
	n      atomic.Int64
}

func (c *tally) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *tally) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}

func (c *tally) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.count(cmd)
		}
		return next(ctx, cmds)
	}
}

func (c *tally) count(cmd redis.Cmder) {
	if strings.HasPrefix(cmd.Name(), c.prefix) {
		c.n.Add(1)
	}
}

// long is a ttl that does not end within a test.
const long = time.Minute

// wantConflict checks that the error is a conflict on the key, and returns it.
func wantConflict(t *testing.T, err error, key string, mode redislock.Mode) redislock.ConflictError {
	t.Helper()
	var conflict *redislock.ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, redislock.ErrNotObtained) {
		t.Fatalf("got error %v, want a conflict", err)
	}
	if conflict.Key != key || conflict.Mode != mode {
		t.Fatalf("got conflict on %q, mode %q; want %q, %q", conflict.Key, conflict.Mode, key, mode)
	}
	return *conflict
}

// wantFree checks that none of the keys exists.
func (w *world) wantFree(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if n := must[int64](t)(w.rdb.Exists(t.Context(), key).Result()); n != 0 {
			t.Fatalf("key %q is there, want it free", key)
		}
	}
}

// wantTTL checks that a key has a TTL, of more than least and at most most.
func (w *world) wantTTL(t *testing.T, key string, least, most time.Duration) {
	t.Helper()
	ttl := must[time.Duration](t)(w.rdb.PTTL(t.Context(), key).Result())
	if ttl <= least || ttl > most {
		t.Fatalf("got ttl of %q %v, want more than %v and at most %v", key, ttl, least, most)
	}
}

func TestObtain(t *testing.T) {
	t.Run("takes every key of the set", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			keys := w.keys("a", "b", "c")
			before := time.Now()
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), keys, long,
				&redislock.Options{Metadata: "who=me"}))
			after := time.Now()
			for _, key := range keys {
				got := must[string](t)(w.rdb.Get(t.Context(), key).Result())
				if want := lock.Token() + "|who=me"; got != want {
					t.Errorf("got value %q, want %q", got, want)
				}
				w.wantTTL(t, key, long-5*time.Second, long)
			}
			if diff := cmp.Diff(keys, lock.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if got := lock.Metadata(); got != "who=me" {
				t.Errorf("got metadata %q", got)
			}
			drift := long/100 + 2*time.Millisecond
			earliest, latest := before.Add(long-drift), after.Add(long-drift)
			if d := lock.Deadline(); d.Before(earliest) || d.After(latest) {
				t.Errorf("got deadline %v, want between %v and %v", d, earliest, latest)
			}
			if ttl := must[time.Duration](t)(lock.TTL(t.Context())); ttl <= long-5*time.Second || ttl > long {
				t.Errorf("got ttl %v", ttl)
			}
			noError(t, lock.Release(t.Context()))
			w.wantFree(t, keys...)
		})
	})

	t.Run("a value without metadata is the token", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, nil))
			got := must[string](t)(w.rdb.Get(t.Context(), w.key("a")).Result())
			if got != lock.Token() || len(got) != 22 {
				t.Errorf("got value %q, want the token %q of 22 characters", got, lock.Token())
			}
		})
	})

	t.Run("all or nothing", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			held := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("c"), long,
				&redislock.Options{Metadata: "host=web-3"}))
			_, err := w.client.Obtain(t.Context(), w.keys("a", "b", "c", "d"), long, nil)
			conflict := wantConflict(t, err, w.key("c"), redislock.ModeWrite)
			if conflict.Metadata != "host=web-3" || conflict.TTL <= long-5*time.Second || conflict.TTL > long {
				t.Errorf("got conflict %+v", conflict)
			}
			w.wantFree(t, w.keys("a", "b", "d")...)
			noError(t, held.Release(t.Context()))
		})
	})

	t.Run("a lock ends with its ttl", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), 400*time.Millisecond, nil))
			eventually(t, 5*time.Second, "the key can be had again", func() bool {
				_, err := w.client.Obtain(t.Context(), w.keys("a"), long, nil)
				return err == nil
			})
			if time.Now().Before(lock.Deadline()) {
				t.Error("the key could be had before the deadline of the first lock")
			}
			err := lock.Release(t.Context())
			wantIs(t, err, redislock.ErrLockNotHeld)
			_, err = lock.TTL(t.Context())
			wantIs(t, err, redislock.ErrLockNotHeld)
			wantIs(t, lock.Refresh(t.Context(), long), redislock.ErrLockNotHeld)
		})
	})

	t.Run("repeated keys count once", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			keys := w.keys("a", "b", "a", "b")
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), keys, long, nil))
			if diff := cmp.Diff(w.keys("a", "b"), lock.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			// Lesson: a caller's slice that was kept and changed made others' keys free.
			keys[0] = w.key("z")
			noError(t, lock.Release(t.Context()))
			w.wantFree(t, w.keys("a", "b")...)
		})
	})
}

// Lessons: token job-1 takes the lock of job-10; a set cannot grow under its own token; a subset
// obtained anew orphans the rest.
func TestToken(t *testing.T) {
	own := func(token, metadata string) *redislock.Options {
		return &redislock.Options{Token: token, Metadata: metadata}
	}
	t.Run("whole tokens are compared", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, own("job-10", "")))
			for _, other := range []string{"job-1", "job-100", "job-10x", "JOB-10"} {
				_, err := w.client.Obtain(t.Context(), w.keys("a"), long, own(other, ""))
				wantConflict(t, err, w.key("a"), redislock.ModeWrite)
				_, err = w.client.ObtainRead(t.Context(), w.keys("a"), long, own(other, ""))
				wantConflict(t, err, w.key("a"), redislock.ModeWrite)
				wantIs(t, w.client.Attach(w.keys("a"), other).Release(t.Context()), redislock.ErrLockNotHeld)
				wantIs(t, w.client.Attach(w.keys("a"), other).Refresh(t.Context(), long), redislock.ErrLockNotHeld)
			}
			noError(t, lock.Release(t.Context()))
		})
	})

	t.Run("a set grows under its token", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			small := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, own("job", "one")))
			large := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), 2*long, own("job", "two")))
			for _, key := range w.keys("a", "b") {
				if got := must[string](t)(w.rdb.Get(t.Context(), key).Result()); got != "job|two" {
					t.Errorf("got value %q of %q, want the new metadata", got, key)
				}
				w.wantTTL(t, key, long, 2*long)
			}
			noError(t, small.Refresh(t.Context(), long)) // by token: the metadata has changed under it
			noError(t, large.Release(t.Context()))
			w.wantFree(t, w.keys("a", "b")...)
		})
	})

	t.Run("a set shrinks, and nothing is orphaned", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			large := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b", "c"), long, own("job", "")))
			small := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), long, own("job", "")))
			noError(t, small.Release(t.Context()))
			w.wantFree(t, w.key("b"))
			err := large.Release(t.Context())
			wantIs(t, err, redislock.ErrLockNotHeld)
			if got := err.Error(); !strings.Contains(got, fmt.Sprintf("%q", w.key("b"))) || strings.Contains(got, w.key("c")) {
				t.Errorf("got error %q, want it to name what was lost and nothing else", got)
			}
			w.wantFree(t, w.keys("a", "b", "c")...)
		})
	})

	t.Run("growing is all or nothing", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			mine := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, own("job", "old")))
			other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), long, nil))
			_, err := w.client.Obtain(t.Context(), w.keys("a", "b", "c"), long, own("job", "new"))
			wantConflict(t, err, w.key("b"), redislock.ModeWrite)
			if got := must[string](t)(w.rdb.Get(t.Context(), w.key("a")).Result()); got != "job|old" {
				t.Errorf("got value %q, want it unchanged", got)
			}
			w.wantFree(t, w.key("c"))
			noError(t, mine.Release(t.Context()))
			noError(t, other.Release(t.Context()))
		})
	})

	t.Run("modes change under the token", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			read := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, own("job", "r")))
			write := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, own("job", "w")))
			_, err := w.client.ObtainRead(t.Context(), w.keys("a"), long, nil)
			wantConflict(t, err, w.key("a"), redislock.ModeWrite)
			again := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, own("job", "r2")))
			other := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			noError(t, other.Release(t.Context()))
			noError(t, again.Release(t.Context()))
			wantIs(t, write.Release(t.Context()), redislock.ErrLockNotHeld)
			wantIs(t, read.Release(t.Context()), redislock.ErrLockNotHeld)
			w.wantFree(t, w.key("a"))
		})
	})
}

func TestRefresh(t *testing.T) {
	t.Run("extends and shortens the whole set", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			keys := w.keys("a", "b", "c")
			lock := must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), keys[:2], keys[2:], long, nil))
			for _, ttl := range []time.Duration{10 * long, long / 2} {
				noError(t, lock.Refresh(t.Context(), ttl))
				for _, key := range keys {
					w.wantTTL(t, key, ttl-5*time.Second, ttl)
				}
				if left := time.Until(lock.Deadline()); left <= ttl-ttl/100-5*time.Second || left > ttl {
					t.Errorf("got deadline in %v, want about %v", left, ttl)
				}
				if got := must[time.Duration](t)(lock.TTL(t.Context())); got <= ttl-5*time.Second || got > ttl {
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
			w.wantTTL(t, w.key("a"), long-5*time.Second, long)
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
			quick := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), 400*time.Millisecond, nil))
			w.wantTTL(t, w.key("a"), long-5*time.Second, long)
			noError(t, quick.Refresh(t.Context(), 300*time.Millisecond))
			w.wantTTL(t, w.key("a"), long-5*time.Second, long)
			eventually(t, 5*time.Second, "the short lease ends", func() bool {
				_, err := quick.TTL(t.Context())
				return errors.Is(err, redislock.ErrLockNotHeld)
			})
			wantIs(t, quick.Refresh(t.Context(), long), redislock.ErrLockNotHeld)
			if ttl := must[time.Duration](t)(slow.TTL(t.Context())); ttl <= long-10*time.Second {
				t.Errorf("got ttl %v of the long reader", ttl)
			}
			noError(t, slow.Release(t.Context()))
			w.wantFree(t, w.key("a"))
		})
	})

	t.Run("a dead reader stops counting when its own lease ends", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), 400*time.Millisecond, nil))
			// Another reader renews all the time: that must not keep the dead one alive.
			live := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			eventually(t, 5*time.Second, "the live reader is alone", func() bool {
				noError(t, live.Refresh(t.Context(), long))
				return live.Upgrade(t.Context()) == nil
			})
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

func TestAttach(t *testing.T) {
	t.Run("another process releases and refreshes", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), w.keys("a"), w.keys("b"), long, &redislock.Options{Metadata: "m|x"}))
			handle := redislock.New(w.rdb).Attach(lock.Keys(), lock.Token())
			if !handle.Deadline().IsZero() {
				t.Errorf("got deadline %v of an attached lock, want none", handle.Deadline())
			}
			noError(t, handle.Refresh(t.Context(), 2*long))
			w.wantTTL(t, w.key("a"), long, 2*long)
			w.wantTTL(t, w.key("b"), long, 2*long)
			noError(t, handle.Downgrade(t.Context()))
			noError(t, handle.Upgrade(t.Context()))
			if got, want := must[string](t)(w.rdb.Get(t.Context(), w.key("b")).Result()), lock.Token()+"|m|x"; got != want {
				t.Errorf("got value %q, want it kept: %q", got, want)
			}
			noError(t, handle.Release(t.Context()))
			w.wantFree(t, lock.Keys()...)
			wantIs(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		})
	})

	t.Run("bad arguments", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			wantIs(t, w.client.Attach(nil, "t").Release(t.Context()), redislock.ErrInvalidKeys)
			wantIs(t, w.client.Attach(w.keys("a"), "").Refresh(t.Context(), long), redislock.ErrInvalidToken)
			_, err := w.client.Attach(w.keys("a"), "a|b").TTL(t.Context())
			wantIs(t, err, redislock.ErrInvalidToken)
			wantIs(t, w.client.Attach(w.keys("a"), "t").Upgrade(t.Context()), redislock.ErrInvalidTTL)
		})
	})
}

func TestInspect(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("w"), long, &redislock.Options{Metadata: "writer"}))
		must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("r"), long, &redislock.Options{Metadata: "one"}))
		last := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("r"), 2*long, &redislock.Options{Metadata: "two"}))
		noError(t, w.rdb.LPush(t.Context(), w.key("l"), "x").Err())
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan struct{})
		go func() {
			defer close(waiting)
			_, _ = w.client.Obtain(ctx, w.keys("r"), long, &redislock.Options{
				Metadata: "waiter", Intent: true, RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
			})
		}()
		defer func() { cancel(); <-waiting }()
		var states []redislock.KeyState
		eventually(t, 5*time.Second, "the writer has declared its intent", func() bool {
			states = must[[]redislock.KeyState](t)(w.client.Inspect(t.Context(), w.keys("w", "r", "l", "free")...))
			return states[1].Intent != nil
		})
		for i := range states { // times are not the same twice
			s := &states[i]
			if s.Mode == redislock.ModeForeign && s.TTL >= 0 {
				t.Errorf("got ttl %v of a foreign key without one", s.TTL)
			}
			s.TTL = 0
			for j := range s.Holders {
				if s.Holders[j].TTL <= 0 {
					t.Errorf("got lease %v of %q", s.Holders[j].TTL, s.Holders[j].Metadata)
				}
				s.Holders[j].TTL = 0
			}
			if s.Intent != nil {
				s.Intent.TTL = 0
			}
		}
		want := []redislock.KeyState{
			{Key: w.key("w"), Mode: redislock.ModeWrite, Holders: []redislock.Holder{{Metadata: "writer"}}},
			{
				Key: w.key("r"), Mode: redislock.ModeRead,
				Holders: []redislock.Holder{{Metadata: "one"}, {Metadata: "two"}},
				Intent:  &redislock.Holder{Metadata: "waiter"},
			},
			{Key: w.key("l"), Mode: redislock.ModeForeign, Type: "list"},
			{Key: w.key("free"), Mode: redislock.ModeFree},
		}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		if text := fmt.Sprintf("%+v", states); strings.Contains(text, last.Token()) {
			t.Error("Inspect shows a token")
		}
	})
}

func TestConflictError(t *testing.T) {
	for _, test := range []struct {
		err  redislock.ConflictError
		want string
	}{
		{
			redislock.ConflictError{Key: "stock:9", Mode: redislock.ModeWrite, Metadata: "host=web-3 pid=812 prog=shop", TTL: 27123 * time.Millisecond},
			`redislock: "stock:9" is write-locked by host=web-3 pid=812 prog=shop, 27.1s left`,
		},
		{
			redislock.ConflictError{Key: "a\nb", Mode: redislock.ModeRead, TTL: 1500 * time.Microsecond},
			`redislock: "a\nb" is read-locked, 2ms left`,
		},
		{
			redislock.ConflictError{Key: "k", Mode: redislock.ModeIntent, Metadata: "a\x00b", TTL: 0},
			`redislock: "k" is kept for a waiting writer, "a\x00b", 0s left`,
		},
		{
			redislock.ConflictError{Key: "k", Mode: redislock.ModeForeign, Type: "list", TTL: -1},
			`redislock: "k" holds a list that is no lock, without a TTL`,
		},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestReleaseOfNil(t *testing.T) {
	var lock *redislock.Lock
	wantIs(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
}

func TestKeyStateString(t *testing.T) {
	holders := []redislock.Holder{{Metadata: "host=a", TTL: 27123 * time.Millisecond}, {TTL: time.Second}}
	for _, test := range []struct {
		state redislock.KeyState
		want  string
	}{
		{redislock.KeyState{Key: "k", Mode: redislock.ModeFree}, `"k" is free`},
		{redislock.KeyState{Key: "k", Mode: redislock.ModeForeign, Type: "list"}, `"k" holds a list that is no lock`},
		{
			redislock.KeyState{Key: "k", Mode: redislock.ModeRead, Holders: holders, Intent: &holders[0]},
			`"k" is read-locked by host=a (27.1s left) and somebody (1s left); a writer waits: host=a (27.1s left)`,
		},
	} {
		if got := test.state.String(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// A hammer: nobody but the holder is ever inside, and no set is ever held in part.
func TestExclusion(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		const keys, workers, rounds = 6, 16, 40
		var inside [keys]atomic.Int32 // writers count 1000, readers 1
		var wg sync.WaitGroup
		for worker := range workers {
			wg.Go(func() {
				for round := range rounds {
					var write, read []string
					var mine []int
					for i := range 3 {
						k := (worker*7 + round*3 + i*i*5) % keys
						if (worker+i)%3 == 0 {
							write = append(write, w.key(fmt.Sprint(k)))
						} else {
							read = append(read, w.key(fmt.Sprint(k)))
						}
						mine = append(mine, k)
					}
					lock, err := w.client.ObtainMixed(t.Context(), write, read, long, &redislock.Options{
						RetryStrategy: redislock.ExponentialBackoff(time.Millisecond, 20*time.Millisecond),
						Intent:        worker%2 == 0,
					})
					if err != nil {
						t.Errorf("unexpected error: %v", err)
						return
					}
					weights := make(map[int]int32)
					for i, k := range mine {
						if (worker+i)%3 == 0 {
							weights[k] = 1000
						} else if weights[k] == 0 {
							weights[k] = 1
						}
					}
					for k, weight := range weights {
						if now := inside[k].Add(weight); now >= 1000 && now != 1000 {
							t.Errorf("key %d: a writer is not alone: %d", k, now)
						}
					}
					for k, weight := range weights {
						inside[k].Add(-weight)
					}
					if err := lock.Release(context.WithoutCancel(t.Context())); err != nil {
						t.Errorf("unexpected error: %v", err)
					}
				}
			})
		}
		wg.Wait()
		for k := range keys {
			w.wantFree(t, w.key(fmt.Sprint(k)), "redislock:intent:{"+w.key(fmt.Sprint(k))+"}")
		}
	})
}
