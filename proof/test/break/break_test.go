package break_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// as are the options of a holder of this name.
func as(who string) *redislock.Options { return &redislock.Options{Metadata: who} }

// broken says whom a Break has broken, without the times.
func broken(t *testing.T, w *world.World, list []redislock.Holder) []string {
	t.Helper()
	var all []string
	for _, b := range list {
		if b.TTL <= 0 || b.TTL > world.Long {
			t.Errorf("got %v left of a lease, want some, and %v at most", b.TTL, world.Long)
		}
		text := fmt.Sprintf("%s %s %s", strings.TrimPrefix(b.Key, w.Prefix), b.Mode, b.Metadata)
		if b.Left {
			text += " left"
		}
		all = append(all, text)
	}
	return all
}

// breaks has keys broken, and compares whom they were taken from.
func breaks(t *testing.T, w *world.World, keys []string, want ...string) {
	t.Helper()
	list := check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), keys, "a test"))
	if diff := cmp.Diff(want, broken(t, w, list)); diff != "" {
		t.Errorf("whom it has broken (-want +got):\n%s", diff)
	}
}

// Break takes keys from whoever holds them, and says from whom.
func TestBreak(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		c, ctx := w.Client, t.Context()
		must := check.Must[*redislock.Lock](t)
		t.Run("written", func(t *testing.T) {
			lock := must(c.Obtain(ctx, w.Keys("a", "b"), world.Long, as("one")))
			breaks(t, w, w.Keys("a", "free"), "a write one")
			w.WantFree(t, w.Key("a"))
			err := lock.Release(ctx)
			check.Is(t, err, redislock.ErrLockNotHeld)
			if !strings.Contains(err.Error(), w.Key("a")) || strings.Contains(err.Error(), w.Key("b")) {
				t.Errorf("got error %v, want one that names the key that was broken, and no other", err)
			}
			w.WantFree(t, w.Key("b"))
		})
		t.Run("read by several", func(t *testing.T) {
			one := must(c.ObtainRead(ctx, w.Keys("a"), world.Long/2, as("one")))
			two := must(c.ObtainSet(ctx, redislock.Set{Write: w.Keys("b"), Read: w.Keys("a")}, world.Long, as("two")))
			ended := redis.Z{Score: float64(time.Now().Add(-time.Minute).UnixMilli()), Member: "dead|ended"}
			check.NoError(t, w.RDB.ZAdd(ctx, w.Key("a"), ended).Err())
			breaks(t, w, w.Keys("b", "a"), "b write two", "a read one", "a read two")
			w.WantFree(t, w.Keys("a", "b")...)
			check.Is(t, one.Release(ctx), redislock.ErrLockNotHeld)
			check.Is(t, two.Release(ctx), redislock.ErrLockNotHeld)
		})
		t.Run("free", func(t *testing.T) {
			breaks(t, w, w.Keys("a", "b"))
		})
		t.Run("named twice", func(t *testing.T) {
			must(c.Obtain(ctx, w.Keys("a"), world.Long, as("one")))
			breaks(t, w, w.Keys("a", "a"), "a write one")
		})
		t.Run("left", func(t *testing.T) {
			// What a lock leaves: a value without a token.
			check.NoError(t, w.RDB.Set(ctx, w.Key("a"), "|one", world.Long).Err())
			left := redis.Z{Score: float64(time.Now().Add(world.Long / 2).UnixMilli()), Member: "|two"}
			check.NoError(t, w.RDB.ZAdd(ctx, w.Key("b"), left).Err())
			check.NoError(t, w.RDB.PExpireAt(ctx, w.Key("b"), time.UnixMilli(int64(left.Score))).Err())
			check.NoError(t, must(c.Obtain(ctx, w.Keys("c"), world.Long, as("three"))).Leave(ctx, world.Long))
			breaks(t, w, w.Keys("a", "b", "c"), "a write one left", "b read two left", "c write three left")
			w.WantFree(t, w.Keys("a", "b", "c")...)
		})
		t.Run("with braces", func(t *testing.T) {
			keys := []string{w.Key("x}y"), w.Key("x{}y"), w.Key("{x}y"), w.Key("x|y"), w.Key("\x00\xff")}
			must(c.Obtain(ctx, keys, world.Long, nil))
			if n := len(check.Must[[]redislock.Holder](t)(c.Break(ctx, keys, ""))); n != len(keys) {
				t.Errorf("got %d keys broken, want %d", n, len(keys))
			}
			w.WantFree(t, keys...)
		})
		t.Run("metadata of any bytes", func(t *testing.T) {
			must(c.Obtain(ctx, w.Keys("a"), world.Long, as("o|p\x00en\n")))
			breaks(t, w, w.Keys("a"), "a write o|p\x00en\n")
			must(c.Obtain(ctx, w.Keys("a"), world.Long, as("open")))
			breaks(t, w, w.Keys("a"), "a write open")
		})
	})
}

// A Client with a prefix names keys without it, and its notices reach those who have another one, or none.
func TestBreakPrefix(t *testing.T) {
	own(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b)
		breaker := world.NewClient(t, b.Client(t), redislock.WithKeyPrefix(w.Prefix))
		holder := world.NewClient(t, b.Client(t), redislock.WithBreakNotices(), redislock.WithKeyPrefix(w.Prefix+"a"))
		lock := check.Must[*redislock.Lock](t)(holder.Obtain(redislock.WithCaller(t.Context(), "me"), []string{"b"}, world.Long, world.Watched))
		ctx := lock.Context(t.Context())
		heard(t, w.RDB, 1)
		list := check.Must[[]redislock.Holder](t)(breaker.Break(t.Context(), []string{"ab"}, "why"))
		if len(list) != 1 || list[0].Key != "ab" || list[0].Caller != "me" {
			t.Errorf("got %+v broken, want the key without its prefix, and the caller's id", list)
		}
		cause := ended(ctx, t)
		check.Is(t, cause, redislock.ErrBroken)
		if strings.Contains(cause.Error(), w.Prefix) {
			t.Errorf("got cause %v, want the key without its prefix", cause)
		}
		check.NoError(t, w.RDB.RPush(t.Context(), w.Key("list"), "data").Err())
		_, err := breaker.Break(t.Context(), []string{"list"}, "")
		check.Is(t, err, &redislock.InvalidError{Argument: "keys"})
		if strings.Contains(err.Error(), w.Prefix) {
			t.Errorf("got error %v, want the key without its prefix", err)
		}
	})
}

// The text of whom a Break has broken is for the log: it shows who it was, and no token.
func TestBrokenText(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]redislock.Holder{
		"host=a pid=1 caller=me (27s left)": {Metadata: "host=a pid=1", Caller: "me", TTL: 27100 * time.Millisecond},
		"somebody (1.0s left)":              {TTL: time.Second},
		"m (after its work, 1.0s to go)":    {Metadata: "m", Left: true, TTL: time.Second},
	} {
		h.Key, h.Mode = "k", redislock.ModeWrite
		if got := h.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A key that is no lock keeps the whole set from being broken.
func TestBreakForeign(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx := t.Context()
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a", "z"), world.Long, nil))
		for name, put := range map[string]func(key string) error{
			"string": func(key string) error { return w.RDB.Set(ctx, key, "data", 0).Err() },
			"list":   func(key string) error { return w.RDB.RPush(ctx, key, "data").Err() },
			"string with a TTL that cannot be a value": func(key string) error {
				return w.RDB.Set(ctx, key, strings.Repeat("data", 1000), world.Long).Err()
			},
			"list with a TTL": func(key string) error {
				return errors.Join(w.RDB.RPush(ctx, key, "data").Err(), w.RDB.PExpire(ctx, key, world.Long).Err())
			},
			"zset": func(key string) error { return w.RDB.ZAdd(ctx, key, redis.Z{Score: 1, Member: "m"}).Err() },
			"zset with a TTL": func(key string) error {
				return errors.Join(w.RDB.ZAdd(ctx, key, redis.Z{Score: 1, Member: "m"}).Err(), w.RDB.PExpire(ctx, key, world.Long).Err())
			},
			"zset of moments with a TTL": func(key string) error {
				at := time.Now().Add(2 * world.Long)
				return errors.Join(w.RDB.ZAdd(ctx, key, redis.Z{Score: float64(at.UnixMilli()), Member: "m"}).Err(), w.RDB.PExpire(ctx, key, world.Long).Err())
			},
			"zset of endless scores with a TTL": func(key string) error {
				return errors.Join(w.RDB.ZAdd(ctx, key, redis.Z{Score: math.Inf(1), Member: "m"}).Err(), w.RDB.PExpire(ctx, key, world.Long).Err())
			},
		} {
			key := w.Key(name)
			check.NoError(t, put(key))
			list, err := w.Client.Break(ctx, []string{w.Key("a"), key, w.Key("z")}, "")
			check.Is(t, err, &redislock.InvalidError{Argument: "keys"})
			kind, _, _ := strings.Cut(name, " ")
			if list != nil || !strings.Contains(err.Error(), fmt.Sprintf("%q is foreign: it holds a %s", key, kind)) {
				t.Errorf("%s: got %v and error %v, want nobody broken, and one that names the key and its type", name, list, err)
			}
			if got, want := strings.Contains(err.Error(), kind+" without a TTL that"), name == kind; got != want {
				t.Errorf("%s: got error %v, want that it says so of a key without a TTL", name, err)
			}
			if n := w.RDB.Exists(ctx, key).Val(); n != 1 {
				t.Errorf("%s: what is no lock is gone", name)
			}
		}
		check.NoError(t, lock.Release(ctx))
	})
}

// Bad arguments are refused before anything is sent.
func TestBreakArguments(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for name, c := range map[string]struct {
			keys   []string
			reason string
			want   error
			text   string
		}{
			"no keys":       {nil, "", &redislock.InvalidError{Argument: "keys"}, "empty"},
			"an empty key":  {[]string{"a", ""}, "", &redislock.InvalidError{Argument: "keys"}, "key 1"},
			"too many keys": {world.Numbered("a", 1001), "", &redislock.InvalidError{Argument: "keys"}, "1001"},
			"a long reason": {[]string{"a"}, strings.Repeat("r", 1025), nil, "1 025 bytes, the limit is 1 024"},
		} {
			var err error
			world.WantUnsent(t, w.RDB, c.want, func() error {
				_, err = w.Client.Break(t.Context(), c.keys, c.reason)
				if c.want == nil {
					if err == nil || !strings.Contains(err.Error(), c.text) {
						t.Errorf("%s: got error %v, want %q in it", name, err, c.text)
					}
					return nil
				}
				return err
			})
			if c.want != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: got error %v, want %q in it", name, err, c.text)
			}
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		world.WantUnsent(t, w.RDB, cause, func() error {
			_, err := w.Client.Break(ctx, w.Keys("a"), "")
			return err
		})
		w.Client.Close()
		world.WantUnsent(t, w.RDB, redis.ErrClosed, func() error {
			_, err := w.Client.Break(t.Context(), w.Keys("a"), "")
			return err
		})
	})
}

// The next owner of a broken key has a greater number, and the broken one has lost its own.
func TestBreakFenced(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx, must := t.Context(), check.Must[*redislock.Lock](t)
		one := must(w.Client.As("one").Obtain(ctx, w.Keys("a", "b"), world.Long, world.Fenced()))
		reader := must(w.Client.As("one").ObtainRead(ctx, w.Keys("c"), world.Long, world.Fenced()))
		breaks(t, w, w.Keys("a", "c"), "a write ", "c read ")
		for _, key := range w.Keys("a", "c") {
			if fields := w.RDB.HKeys(ctx, "redislock:fence:{"+key+"}").Val(); !slices.Equal(fields, []string{""}) {
				t.Errorf("numbers of %q are left beside the greatest: %q", key, fields)
			}
		}
		again := must(w.Client.As("one").Obtain(ctx, w.Keys("a"), world.Long, world.Fenced()))
		if again.Fence() <= one.Fence() {
			t.Errorf("got number %d after %d, want a greater one", again.Fence(), one.Fence())
		}
		readAgain := must(w.Client.As("one").ObtainRead(ctx, w.Keys("c"), world.Long, world.Fenced()))
		if readAgain.Fence() <= reader.Fence() {
			t.Errorf("got number %d after %d, want a greater one", readAgain.Fence(), reader.Fence())
		}
	})
}

// A Break logs itself at the level of a warning: with the keys and the reason, and without tokens.
func TestBreakLog(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		var log check.Log
		client := world.NewClient(t, w.RDB, redislock.WithLogger(slog.New(&log)))
		lock := check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), w.Keys("a"), world.Long, as("one")))
		check.NoError(t, w.RDB.RPush(t.Context(), w.Key("data"), "data").Err())
		_, err := client.Break(t.Context(), w.Keys("data"), "no lock")
		check.Is(t, err, &redislock.InvalidError{Argument: "keys"})
		check.Must[[]redislock.Holder](t)(client.Break(t.Context(), w.Keys("a"), "it hangs"))
		lines := log.At(slog.LevelWarn)
		if len(lines) != 1 || !strings.Contains(lines[0], "locks broken") {
			t.Errorf("got log %q, want one line", lines)
		}
		if got := log.Attr("reason"); len(got) != 1 || got[0] != "it hangs" {
			t.Errorf("got reasons %q, want one", got)
		}
		if got := fmt.Sprint(lines, log.Attr("holders"), log.Attr("keys")); strings.Contains(got, lock.Token()) {
			t.Errorf("the log has a token: %s", got)
		}
	})
}
