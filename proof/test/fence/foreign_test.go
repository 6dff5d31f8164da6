package fence_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
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
func intrude(t *testing.T, w *world.World, kind, key string) (untouched func()) {
	t.Helper()
	fence := fenceOf(w, key)
	check.NoError(t, w.RDB.Del(t.Context(), fence).Err())
	check.NoError(t, intruders[kind](t.Context(), w.RDB, fence))
	return func() {
		t.Helper()
		if n := check.Must[int64](t)(w.RDB.Exists(t.Context(), fence).Result()); n != 1 {
			t.Error("what is not ours is gone")
		}
		if ttl := w.RDB.PTTL(t.Context(), fence).Val(); ttl > 0 {
			t.Errorf("what is not ours has a TTL of %v", ttl)
		}
		if kind == "a hash of something else" && w.RDB.HGet(t.Context(), fence, "").Val() != "theirs" {
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

// Something else in the place of fencing numbers is left alone: no number can be given, which the error says before
// anything is changed. Callers that need no number go on.
func TestForeignFence(t *testing.T) {
	for kind := range intruders {
		t.Run(kind, func(t *testing.T) {
			t.Run("no number is given", func(t *testing.T) {
				world.Scenario(t, func(t *testing.T, w *world.World) {
					untouched := intrude(t, w, kind, "b")
					insists := world.Fenced()
					insists.RetryStrategy = redislock.LinearBackoff(world.Long)
					for what, p := range map[string]world.Part{"write": "AB", "read": "ab", "mixed": "Ab"} {
						_, err := w.Client.ObtainSet(t.Context(), setOf(w, p), world.Long, insists)
						wantForeignFence(t, what, err, fenceOf(w, "b"))
						w.WantFree(t, append(w.Keys("a", "b"), fenceOf(w, "a"))...)
					}
					check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), []string{w.Key("b")}))
					check.NoError(t, check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("b"), world.Long, nil)).Release(t.Context()))
					untouched()
				})
			})
			t.Run("a lock goes on that was there before", func(t *testing.T) {
				world.Scenario(t, func(t *testing.T, w *world.World) {
					lock := takePart(t, w, "AB", world.Fenced())
					number := check.Must[string](t)(w.RDB.HGet(t.Context(), fenceOf(w, "a"), "").Result())
					untouched := intrude(t, w, kind, "b")
					wantForeignFence(t, "RaiseFence", lock.RaiseFence(t.Context(), 1<<51), fenceOf(w, "b"))
					wantForeignFence(t, "downgrade", lock.Downgrade(t.Context()), fenceOf(w, "b"))
					if got := check.Must[string](t)(w.RDB.HGet(t.Context(), fenceOf(w, "a"), "").Result()); got != number {
						t.Errorf("got number %s, want %s still", got, number)
					}
					_, err := w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil)
					world.WantConflict(t, err, w.Key("a"), redislock.ModeWrite)
					check.NoError(t, lock.Refresh(t.Context(), world.Long))
					check.NoError(t, lock.Release(t.Context()))
					w.WantFree(t, w.Keys("a", "b")...)
					untouched()
				})
			})
			t.Run("whoever stands in line", func(t *testing.T) {
				world.Scenario(t, func(t *testing.T, w *world.World) {
					lock := takePart(t, w, "AB", world.Fenced())
					wants := make(chan error, 1)
					go func() {
						opt := world.Fenced()
						opt.Queue = true
						_, err := w.Client.Obtain(t.Context(), w.Keys("a", "b"), world.Long, opt)
						wants <- err
					}()
					w.InLine(t, w.Key("a"), 1)
					turns := make(chan world.Turn, 2)
					w.Wait(t.Context(), turns, "unfenced", w.Keys("b"), nil)
					w.InLine(t, w.Key("b"), 2)
					untouched := intrude(t, w, kind, "b")
					check.NoError(t, lock.Release(t.Context()))
					err, ok := check.Receive(wants, world.Polled)
					if !ok {
						t.Fatal("an Obtain that wants a number returned no error")
					}
					wantForeignFence(t, "in line", err, fenceOf(w, "b"))
					check.NoError(t, world.WantTurnWithin(t, turns, world.Polled, "unfenced")[0].Release(t.Context()))
					w.WantFree(t, w.Keys("a", "b")...)
					untouched()
				})
			})
		})
	}
}
