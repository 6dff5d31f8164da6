package redislock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// intruders are what may stand where the fencing numbers of a key would, and is not ours.
var intruders = map[string]func(ctx context.Context, rdb *redis.Client, fence string) error{
	"a string": func(ctx context.Context, rdb *redis.Client, fence string) error {
		return rdb.Set(ctx, fence, "theirs", 0).Err()
	},
	"a list": func(ctx context.Context, rdb *redis.Client, fence string) error {
		return rdb.RPush(ctx, fence, "theirs").Err()
	},
	"a hash of something else": func(ctx context.Context, rdb *redis.Client, fence string) error {
		return rdb.HSet(ctx, fence, "", "theirs").Err()
	},
}

// intrude puts something else in the place of the fencing numbers of a key, and returns what checks that
// it is still there as it was.
func (w *world) intrude(t *testing.T, kind, key string) (untouched func()) {
	t.Helper()
	fence := w.fence(key)
	noError(t, w.rdb.Del(t.Context(), fence).Err())
	noError(t, intruders[kind](t.Context(), w.rdb, fence))
	return func() {
		t.Helper()
		if n := must[int64](t)(w.rdb.Exists(t.Context(), fence).Result()); n != 1 {
			t.Error("what is not ours is gone")
		}
		if ttl := w.rdb.PTTL(t.Context(), fence).Val(); ttl > 0 {
			t.Errorf("what is not ours has a TTL of %v", ttl)
		}
		if kind == "a hash of something else" && w.rdb.HGet(t.Context(), fence, "").Val() != "theirs" {
			t.Error("what is not ours was overwritten")
		}
	}
}

// wantForeignFence checks for the error that names what stands in the place of the fencing numbers: a
// final one, which no waiting ends.
func wantForeignFence(t *testing.T, what string, err error, fence string) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s: got no error", what)
	}
	for _, other := range []error{redislock.ErrNotObtained, redislock.ErrLockNotHeld, redislock.ErrUnknownOutcome} {
		if errors.Is(err, other) {
			t.Errorf("%s: got error %v, which is %v", what, err, other)
		}
	}
	if text := err.Error(); !strings.Contains(text, fence) || !strings.Contains(text, "fencing numbers") || strings.Contains(text, "FOREIGN") {
		t.Errorf("%s: got error %q, want one that names %q", what, text, fence)
	}
}

// What stands in the place of fencing numbers and is something else is left alone: no number can be
// given, which is said before anything is changed, and what needs none goes on.
func TestForeignFence(t *testing.T) {
	for kind := range intruders {
		t.Run(kind, func(t *testing.T) {
			t.Run("no number is given", func(t *testing.T) {
				scenario(t, func(t *testing.T, w *world) {
					untouched := w.intrude(t, kind, "b")
					insists := fenced("")
					insists.RetryStrategy = redislock.LinearBackoff(long)
					for what, p := range map[string]part{"write": "AB", "read": "ab", "mixed": "Ab"} {
						write, read := w.modes(p)
						_, err := w.client.ObtainMixed(t.Context(), write, read, long, insists)
						wantForeignFence(t, what, err, w.fence("b"))
						w.wantFree(t, append(w.keys("a", "b"), w.fence("a"))...)
					}
					must[[]redislock.KeyState](t)(w.client.Inspect(t.Context(), w.key("b")))
					noError(t, must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), long, nil)).Release(t.Context()))
					untouched()
				})
			})
			t.Run("a lock goes on that was there before", func(t *testing.T) {
				scenario(t, func(t *testing.T, w *world) {
					lock := w.take(t, "AB", fenced(""))
					number := must[string](t)(w.rdb.HGet(t.Context(), w.fence("a"), "").Result())
					untouched := w.intrude(t, kind, "b")
					wantForeignFence(t, "RaiseFence", lock.RaiseFence(t.Context(), 1<<51), w.fence("b"))
					wantForeignFence(t, "downgrade", lock.Downgrade(t.Context()), w.fence("b"))
					if got := must[string](t)(w.rdb.HGet(t.Context(), w.fence("a"), "").Result()); got != number {
						t.Errorf("got number %s, want %s still", got, number)
					}
					_, err := w.client.ObtainRead(t.Context(), w.keys("a"), long, nil)
					wantConflict(t, err, w.key("a"), redislock.ModeWrite)
					noError(t, lock.Refresh(t.Context(), long))
					noError(t, lock.Release(t.Context()))
					w.wantFree(t, w.keys("a", "b")...)
					untouched()
				})
			})
			t.Run("whoever stands in line", func(t *testing.T) {
				scenario(t, func(t *testing.T, w *world) {
					lock := w.take(t, "AB", fenced(""))
					wants := make(chan error, 1)
					go func() {
						opt := fenced("")
						opt.Queue = true
						_, err := w.client.Obtain(t.Context(), w.keys("a", "b"), long, opt)
						wants <- err
					}()
					w.inLine(t, w.key("a"), 1)
					turns := make(chan turn, 2)
					w.wait(t.Context(), turns, "unfenced", w.keys("b"), nil)
					w.inLine(t, w.key("b"), 2)
					untouched := w.intrude(t, kind, "b")
					noError(t, lock.Release(t.Context()))
					err, ok := receive(wants, polled)
					if !ok {
						t.Fatal("whoever wants a number is told nothing")
					}
					wantForeignFence(t, "in line", err, w.fence("b"))
					noError(t, wantTurnWithin(t, turns, polled, "unfenced")[0].Release(t.Context()))
					w.wantFree(t, w.keys("a", "b")...)
					untouched()
				})
			})
		})
	}
}
