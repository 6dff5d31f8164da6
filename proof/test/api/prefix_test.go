package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// prefixed runs fn with two Clients: w names keys in full, and short has their beginning as its prefix.
func prefixed(t *testing.T, fn func(t *testing.T, w, short *world.World)) {
	t.Helper()
	world.Scenario(t, func(t *testing.T, w *world.World) { fn(t, w, w.Prefixed(t)) })
}

// wantShown checks that an error names keys as callers do, and not with the prefix.
func wantShown(t *testing.T, w *world.World, err, target error, keys ...string) {
	t.Helper()
	check.Is(t, err, target)
	text := fmt.Sprint(err)
	if strings.Contains(text, w.Prefix) {
		t.Errorf("got error %q, which shows the prefix", text)
	}
	for _, key := range keys {
		if !strings.Contains(text, fmt.Sprintf("%q", key)) {
			t.Errorf("got error %q, want it to name %q", text, key)
		}
	}
}

// inRedis returns the names of all lock keys that are held in a world.
func inRedis(t *testing.T, w *world.World, names ...string) (held []string) {
	t.Helper()
	for _, name := range names {
		if check.Must[int64](t)(w.RDB.Exists(t.Context(), w.Key(name)).Result()) == 1 {
			held = append(held, name)
		}
	}
	return held
}

// The keys are those with the prefix in Redis, and those without it for callers, whatever is done with them.
func TestKeyPrefix(t *testing.T) {
	prefixed(t, func(t *testing.T, w, short *world.World) {
		ctx, all := t.Context(), []string{"a", "b", "c"}
		wantLongTTL := func(lock *redislock.Lock) {
			t.Helper()
			if ttl := check.Must[time.Duration](t)(lock.TTL(ctx)); ttl <= world.Long || ttl > 2*world.Long {
				t.Errorf("got ttl %v, want nearly %v", ttl, 2*world.Long)
			}
		}
		lock := check.Must[*redislock.Lock](t)(short.Client.ObtainSet(ctx, redislock.Set{Write: []string{"a", "b", "a"}, Read: []string{"c", "b"}}, world.Long, nil))
		if diff := cmp.Diff(all, lock.Keys()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(all, inRedis(t, w, all...)); diff != "" {
			t.Errorf("keys in Redis (-want +got):\n%s", diff)
		}
		if got, want := short.Client.RedisKey("a"), w.Key("a"); got != want {
			t.Errorf("got name %q, want %q", got, want)
		}
		if got, want := w.Client.RedisKey("a"), "a"; got != want {
			t.Errorf("got name %q without a prefix, want %q", got, want)
		}
		check.NoError(t, lock.Refresh(ctx, 2*world.Long))
		wantLongTTL(lock)
		wantLongTTL(short.Client.Attach(all, lock.Token()))
		wantLongTTL(w.Client.Attach(w.Keys(all...), lock.Token()))
		check.NoError(t, lock.Downgrade(ctx))
		check.NoError(t, lock.Upgrade(ctx))

		wantShown(t, w, lock.ReleaseKeys(ctx, w.Keys("b")[:0]), &redislock.InvalidError{Argument: "keys"})
		wantShown(t, w, lock.ReleaseKeys(ctx, []string{"d"}), &redislock.InvalidError{Argument: "keys"}, "d")
		check.Is(t, lock.ReleaseKeys(ctx, w.Keys("b")), &redislock.InvalidError{Argument: "keys"})
		check.NoError(t, lock.ReleaseKeys(ctx, []string{"b"}))
		if diff := cmp.Diff([]string{"a", "c"}, inRedis(t, w, all...)); diff != "" {
			t.Errorf("keys in Redis without b (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"a", "c"}, lock.Keys()); diff != "" {
			t.Errorf("keys without b (-want +got):\n%s", diff)
		}
		check.NoError(t, lock.Refresh(ctx, world.Long))
		check.NoError(t, lock.Release(ctx))
		wantShown(t, w, lock.Release(ctx), redislock.ErrLockNotHeld, "a")
		w.WantFree(t, w.Keys(all...)...)
	})
}

// Conflicts name keys without the prefix, whoever has them.
func TestKeyPrefixOfConflicts(t *testing.T) {
	prefixed(t, func(t *testing.T, w, short *world.World) {
		ctx := t.Context()
		check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("w"), world.Long, &redislock.Options{Metadata: "whole"}))
		check.Must[*redislock.Lock](t)(short.Client.ObtainRead(ctx, []string{"r"}, world.Long, &redislock.Options{Metadata: "short"}))
		check.NoError(t, w.RDB.HSet(ctx, w.Key("f"), "f", "v").Err())
		t.Cleanup(func() { w.RDB.Del(context.Background(), w.Key("f")) })
		for key, mode := range map[string]redislock.Mode{"w": redislock.ModeWrite, "r": redislock.ModeRead, "f": redislock.ModeForeign} {
			for _, keys := range [][]string{{key}, {"a", key}, {key, "z"}} {
				_, err := short.Client.Obtain(ctx, keys, world.Long, nil)
				world.WantConflict(t, err, key, mode)
				wantShown(t, w, err, redislock.ErrNotObtained, key)
				_, err = short.Client.ObtainSet(ctx, redislock.Set{Write: []string{key}, Read: keys}, world.Long, &redislock.Options{Fenced: true})
				world.WantConflict(t, err, key, mode)
			}
			_, err := w.Client.Obtain(ctx, w.Keys("a", key), world.Long, nil)
			world.WantConflict(t, err, w.Key(key), mode)
			ended, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			_, err = short.Client.Obtain(ended, []string{key}, world.Long, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)})
			cancel()
			wantShown(t, w, err, redislock.ErrNotObtained, key)
		}
		reader := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(ctx, w.Keys("q", "r"), world.Long, nil))
		mine := check.Must[*redislock.Lock](t)(short.Client.ObtainRead(ctx, []string{"p", "r"}, world.Long, nil))
		err := mine.Upgrade(ctx)
		world.WantConflict(t, err, "r", redislock.ModeRead)
		wantShown(t, w, err, redislock.ErrNotObtained, "r")
		world.WantConflict(t, reader.Upgrade(ctx), w.Key("r"), redislock.ModeRead)
	})
}

// Losses are told without the prefix: by what a caller calls, by the context, the events and the log.
func TestKeyPrefixOfLosses(t *testing.T) {
	prefixed(t, func(t *testing.T, w, short *world.World) {
		ctx, keys := t.Context(), []string{"a", "b"}
		obtain := func() *redislock.Lock {
			return check.Must[*redislock.Lock](t)(short.Client.Obtain(ctx, keys, world.Long, &redislock.Options{Fenced: true}))
		}
		for name, use := range map[string]func(*redislock.Lock) error{
			"refresh":     func(l *redislock.Lock) error { return l.Refresh(ctx, world.Long) },
			"downgrade":   func(l *redislock.Lock) error { return l.Downgrade(ctx) },
			"raise fence": func(l *redislock.Lock) error { return l.RaiseFence(ctx, l.Fence()+1) },
			"release":     func(l *redislock.Lock) error { return l.Release(ctx) },
		} {
			lock := obtain()
			check.NoError(t, w.RDB.Del(ctx, w.Key("b")).Err())
			err := use(lock)
			wantShown(t, w, err, redislock.ErrLockNotHeld, "b")
			if !strings.Contains(fmt.Sprint(err), name+` "a" and 1 more`) {
				t.Errorf("got error %q, want it to name the set", err)
			}
			_ = lock.Release(ctx)
		}
		lock := obtain()
		check.NoError(t, w.RDB.Del(ctx, w.Keys("a", "b")...).Err())
		_, err := lock.TTL(ctx)
		wantShown(t, w, err, redislock.ErrLockNotHeld, "a")
		wantShown(t, w, lock.Refresh(ctx, world.Long), redislock.ErrLockNotHeld, "a", "b")
		err = short.Client.With(ctx, keys, world.Long, nil, func(ctx context.Context) error {
			return w.RDB.Del(ctx, w.Key("b")).Err()
		})
		wantShown(t, w, err, redislock.ErrLockLost, "b")
		w.WantFree(t, w.Keys("a", "b")...)
	})
}

// What is in the place of fencing numbers is named as it is in Redis: that is where somebody has to look.
func TestKeyPrefixOfAForeignFence(t *testing.T) {
	prefixed(t, func(t *testing.T, w, short *world.World) {
		fence := "redislock:fence:{" + w.Key("b") + "}"
		check.NoError(t, w.RDB.Set(t.Context(), fence, "theirs", world.Long).Err())
		t.Cleanup(func() { w.RDB.Del(context.Background(), fence) })
		_, err := short.Client.Obtain(t.Context(), []string{"a", "b"}, world.Long, &redislock.Options{Fenced: true})
		if text := fmt.Sprint(err); !strings.Contains(text, fmt.Sprintf("obtain %q and 1 more: %q holds a string", "a", fence)) {
			t.Errorf("got error %v", err)
		}
	})
}

func TestKeyPrefixOfInspect(t *testing.T) {
	prefixed(t, func(t *testing.T, w, short *world.World) {
		ctx := t.Context()
		check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a"), world.Long, &redislock.Options{Metadata: "whole", Fenced: true}))
		stay, leave := context.WithCancel(ctx)
		turns := make(chan world.Turn, 2)
		short.Wait(stay, turns, "short", []string{"z", "a"}, nil)
		short.InLine(t, "a", 1)
		defer func() { leave(); <-turns }()
		theirs := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(ctx, w.Keys("a", "z", "free")))
		ours := check.Must[[]redislock.KeyState](t)(short.Client.Inspect(ctx, []string{"a", "z", "free"}))
		for i := range theirs {
			theirs[i].Key = strings.TrimPrefix(theirs[i].Key, w.Prefix)
			for j := range theirs[i].Holders {
				theirs[i].Holders[j].Key = strings.TrimPrefix(theirs[i].Holders[j].Key, w.Prefix)
			}
		}
		notTheSameTwice := cmpopts.IgnoreTypes(time.Duration(0))
		if diff := cmp.Diff(theirs, ours, notTheSameTwice); diff != "" {
			t.Errorf("states (-whole +short):\n%s", diff)
		}
		if text := ours[0].String(); !strings.HasPrefix(text, `"a" is write-locked by whole`) {
			t.Errorf("got %q", text)
		}
		_, err := short.Client.Inspect(ctx, []string{"a", ""})
		wantShown(t, w, err, &redislock.InvalidError{Argument: "keys"})
		ended, cancel := context.WithCancel(ctx)
		returned := make(chan struct{})
		w.RDB.AddHook(check.Around{Before: func(redis.Cmder) {
			cancel()
			<-returned
		}})
		_, err = short.Client.Inspect(ended, []string{"a"})
		close(returned)
		wantShown(t, w, err, redislock.ErrUnknownOutcome, "a")
	})
}

// Events and the log have the keys of the callers.
func TestKeyPrefixOfEvents(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		events := make(map[string][][]string)
		note := func(name string) func(context.Context, redislock.Event) {
			return func(_ context.Context, e redislock.Event) {
				events[name] = append(events[name], e.Keys)
				if e.Err != nil {
					wantShown(t, w, e.Err, e.Err)
				}
			}
		}
		log := new(check.Log)
		short := w.Prefixed(t, redislock.WithLogger(slog.New(log)), redislock.WithHooks(redislock.Hooks{
			Obtained: note("obtained"), Refused: note("refused"), Refreshed: note("refreshed"),
			Lost: note("lost"), Released: note("released"),
		}))
		ctx, keys := t.Context(), []string{"a", "b"}
		lock := check.Must[*redislock.Lock](t)(short.Client.Obtain(ctx, keys, time.Minute, world.Watched))
		_, err := short.Client.Obtain(ctx, []string{"b"}, time.Minute, nil)
		check.Is(t, err, redislock.ErrNotObtained)
		check.NoError(t, lock.Refresh(ctx, time.Minute))
		check.NoError(t, lock.ReleaseKeys(ctx, []string{"b"}))
		mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
		time.Sleep(25 * time.Second)
		mini.Miniredis().SetError("")
		mini.Miniredis().Del(w.Key("a"))
		<-lock.Lost()
		synctest.Wait()
		a := [][]string{{"a"}}
		refreshed := events["refreshed"]
		delete(events, "refreshed")
		want := map[string][][]string{"obtained": {keys}, "refused": {{"b"}}, "released": {{"b"}}, "lost": a}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if len(refreshed) < 2 || !cmp.Equal(refreshed[0], keys) || !cmp.Equal(refreshed[1:2], a) {
			t.Errorf("got refreshed %q, want that of both, and then of a", refreshed)
		}
		logged := log.Attr("keys")
		for _, keys := range logged {
			if diff := cmp.Diff([]string{"a"}, keys); diff != "" {
				t.Errorf("keys in the log (-want +got):\n%s", diff)
			}
		}
		if len(logged) < 2 {
			t.Errorf("got %d lines of the log, want one for a renewal that has failed, and one for the loss", len(logged))
		}
	})
}

// Two Clients meet where the whole names of keys are the same, and nowhere else.
func TestKeyPrefixesMeet(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx := t.Context()
		one := w.Prefixed(t).Client
		two := world.NewClient(t, w.RDB, redislock.WithKeyPrefix(w.Key("two:")))
		other := world.NewClient(t, w.RDB, redislock.WithKeyPrefix(w.Key("other:")))
		lock := check.Must[*redislock.Lock](t)(two.Obtain(ctx, []string{"x"}, world.Long, nil))
		_, err := w.Client.Obtain(ctx, w.Keys("two:x"), world.Long, nil)
		world.WantConflict(t, err, w.Key("two:x"), redislock.ModeWrite)
		_, err = one.Obtain(ctx, []string{"two:x"}, world.Long, nil)
		world.WantConflict(t, err, "two:x", redislock.ModeWrite)
		check.NoError(t, check.Must[*redislock.Lock](t)(other.Obtain(ctx, []string{"x"}, world.Long, nil)).Release(ctx))
		check.NoError(t, lock.Release(ctx))
	})
}

// A prefix that would be a hash tag, is none, or is too long is refused by the first call, before anything is sent; and so
// is a key that would be the prefix alone.
func TestKeyPrefixIsChecked(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Redis)
	w := world.New(t, server)
	for prefix, want := range map[string]string{
		"": "an empty prefix", "{lock}:": `"{lock}:"`, "lock{": "no braces", "}": "no braces",
		strings.Repeat("x", 257): "257 bytes, the limit is 256",
	} {
		client := world.NewClient(t, w.RDB, redislock.WithKeyPrefix(prefix))
		for what, use := range map[string]func() error{
			"obtain":  func() error { _, err := client.Obtain(t.Context(), []string{"a"}, world.Long, nil); return err },
			"inspect": func() error { _, err := client.Inspect(t.Context(), []string{"a"}); return err },
			"attach":  func() error { return client.Attach([]string{"a"}, "t").Release(t.Context()) },
		} {
			var err error
			world.WantUnsent(t, w.RDB, nil, func() error { err = use(); return nil })
			if err == nil || !strings.Contains(err.Error(), "WithKeyPrefix") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s with the prefix %q: got error %v, want one that says %s", what, prefix, err, want)
			}
		}
	}
	for _, prefix := range []string{"lock:", "|\x00\n:", strings.Repeat("x", 256)} {
		client := world.NewClient(t, w.RDB, redislock.WithKeyPrefix(prefix))
		for _, keys := range [][]string{nil, {""}, {"a", ""}} {
			world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "keys"}, func() error {
				_, err := client.Obtain(t.Context(), keys, world.Long, nil)
				return err
			})
		}
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a"), world.Long, world.Queue()))
		check.NoError(t, lock.Release(t.Context()))
	}
}

// Large sets have their prefix as well, however they are taken and released.
func TestKeyPrefixOfManyKeys(t *testing.T) {
	t.Parallel()
	const n = 10000
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	short := w.Prefixed(t, redislock.WithMaxKeys(n))
	keys, names := make([]string, n), make([]string, n)
	for i := range keys {
		keys[i], names[i] = fmt.Sprint(i), w.Key(fmt.Sprint(i))
	}
	for _, write := range []int{n, 0} {
		lock := check.Must[*redislock.Lock](t)(short.Client.ObtainSet(t.Context(), redislock.Set{Write: keys[:write], Read: keys[write:]}, world.Long, nil))
		if got := check.Must[int64](t)(w.RDB.Exists(t.Context(), names...).Result()); got != n {
			t.Errorf("%d keys are held, want %d", got, n)
		}
		if diff := cmp.Diff(keys, lock.Keys()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		check.NoError(t, lock.Refresh(t.Context(), world.Long))
		check.NoError(t, lock.ReleaseKeys(t.Context(), keys[:n/2]))
		check.NoError(t, w.RDB.Del(t.Context(), names[n-1]).Err())
		wantShown(t, w, lock.Release(t.Context()), redislock.ErrLockNotHeld, keys[n/2], keys[n-1])
		w.WantFree(t, names[0], names[n/2], names[n-2])
	}
}
