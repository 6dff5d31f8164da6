package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// wantLeft checks that an Obtain finds a key left.
func wantLeft(t *testing.T, err error, key string, mode redislock.Mode) {
	t.Helper()
	if conflict := world.WantConflict(t, err, key, mode); !conflict.Left || conflict.Metadata != "host=a" {
		t.Errorf("left: %t, metadata %q, want left by host=a", conflict.Left, conflict.Metadata)
	}
	if err != nil && !strings.Contains(err.Error(), "is kept "+string(mode)+"-locked after the work of host=a") {
		t.Errorf("got error %v, want one that says so", err)
	}
}

// Nothing of the hold has any effect on keys that were left, and nobody has them before their time is over.
func TestLeave(t *testing.T) {
	world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
		ctx := t.Context()
		token := "mine" + w.Prefix
		lock := check.Must[*redislock.Lock](t)(w.Client.As(token).Obtain(ctx, w.Keys("a", "b"), world.Long,
			&redislock.Options{Metadata: "host=a", Watchdog: true}))
		attached := w.Client.Attach(w.Keys("a", "b"), token)
		held := lock.Context(ctx)
		check.NoError(t, lock.Leave(ctx, time.Minute))
		if !errors.Is(context.Cause(held), context.Canceled) {
			t.Errorf("the context has ended with %v", context.Cause(held))
		}
		for _, key := range w.Keys("a", "b") {
			w.WantTTL(t, key, time.Minute/2, time.Minute)
			if got := w.RDB.Get(ctx, key).Val(); got != "|host=a" {
				t.Errorf("%q holds %q", key, got)
			}
			_, err := w.Client.Obtain(ctx, []string{key}, world.Long, nil)
			wantLeft(t, err, key, redislock.ModeWrite)
			_, err = w.Client.As(token).ObtainRead(ctx, []string{key}, world.Long, nil)
			wantLeft(t, err, key, redislock.ModeWrite)
			_, err = w.Client.As(token).Obtain(ctx, []string{key}, world.Long, nil)
			wantLeft(t, err, key, redislock.ModeWrite)
		}
		for name, err := range map[string]error{
			"refresh": lock.Refresh(ctx, world.Long), "release": lock.Release(ctx), "leave": lock.Leave(ctx, world.Long),
			"attached refresh": attached.Refresh(ctx, world.Long), "attached release": attached.Release(ctx),
		} {
			if !errors.Is(err, redislock.ErrLockNotHeld) {
				t.Errorf("%s: %v", name, err)
			}
		}
		state := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(ctx, w.Keys("a")))[0]
		if len(state.Holders) != 1 || !state.Holders[0].Left || state.Mode != redislock.ModeWrite || state.Holders[0].Metadata != "host=a" {
			t.Errorf("got %+v", state)
		}
		if want := "host=a (after its work, "; !strings.Contains(state.String(), want) {
			t.Errorf("got %q, want one that says %q", state, want)
		}
		w.WantTTL(t, w.Key("b"), time.Minute/2, time.Minute)
	})
}

// What a reader leaves can be read by others, and is kept from writers until the last of all leases and times is over.
func TestLeaveRead(t *testing.T) {
	world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
		ctx, a := t.Context(), w.Keys("a")
		read := func(ttl time.Duration) *redislock.Lock {
			return check.Must[*redislock.Lock](t)(w.Client.ObtainRead(ctx, a, ttl, &redislock.Options{Metadata: "host=a", Fenced: true}))
		}
		first, second := read(time.Hour), read(2*time.Minute)
		check.NoError(t, first.Leave(ctx, time.Minute))
		w.WantTTL(t, a[0], time.Minute, 2*time.Minute) // that of the other
		_, err := w.Client.Obtain(ctx, a, world.Long, nil)
		if conflict := world.WantConflict(t, err, a[0], redislock.ModeRead); conflict.Left {
			t.Error("the key counts as left while somebody reads it")
		}
		check.NoError(t, second.Leave(ctx, 30*time.Second)) // sooner than the other
		w.WantTTL(t, a[0], time.Minute/2, time.Minute)
		_, err = w.Client.Obtain(ctx, a, world.Long, nil)
		wantLeft(t, err, a[0], redislock.ModeRead)

		third := read(world.Long)
		w.WantTTL(t, a[0], world.Long-world.Slack, world.Long)
		state := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(ctx, a))[0]
		if len(state.Holders) != 2 || !state.Holders[0].Left || state.Holders[1].Left {
			t.Errorf("got %+v", state.Holders)
		}
		check.NoError(t, third.Release(ctx))
		w.WantTTL(t, a[0], time.Minute/2, time.Minute)
		check.Is(t, third.Refresh(ctx, world.Long), redislock.ErrLockNotHeld)
		check.Is(t, first.RaiseFence(ctx, third.Fence()+1), redislock.ErrLockNotHeld)
	})
}

// A mixed set is left in its modes. The next number of each key is greater, also where readers that have left were dropped.
func TestLeaveMixed(t *testing.T) {
	world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
		ctx := t.Context()
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(ctx, redislock.Set{Write: w.Keys("w"), Read: w.Keys("r")}, world.Long,
			&redislock.Options{Metadata: "host=a", Fenced: true}))
		raised := lock.Fence() + int64(time.Hour/time.Microsecond)
		check.NoError(t, lock.RaiseFence(ctx, raised))
		check.NoError(t, lock.Leave(ctx, time.Hour))
		_, err := w.Client.Obtain(ctx, w.Keys("w"), world.Long, nil)
		wantLeft(t, err, w.Key("w"), redislock.ModeWrite)
		_, err = w.Client.Obtain(ctx, w.Keys("r"), world.Long, nil)
		wantLeft(t, err, w.Key("r"), redislock.ModeRead)

		// The time of one reader ends before that of another, who leaves the key: its number goes, and the greatest one stays.
		read := func() *redislock.Lock {
			return check.Must[*redislock.Lock](t)(w.Client.ObtainRead(ctx, w.Keys("r"), world.Long, world.Fenced()))
		}
		second, third := read(), read()
		check.NoError(t, w.RDB.ZAdd(ctx, w.Key("r"), redis.Z{Score: 1, Member: "|host=a"}).Err())
		check.NoError(t, second.Leave(ctx, time.Minute))
		check.NoError(t, third.Release(ctx))
		check.NoError(t, w.RDB.Del(ctx, w.Keys("w", "r")...).Err())
		writer := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("w", "r"), world.Long, world.Fenced()))
		if number := check.Must[int64](t)(w.RDB.HLen(ctx, slot.Beside("fence", w.Key("r"))).Result()); number != 2 {
			t.Errorf("%d numbers stand beside the key, want the greatest and that of the writer", number)
		}
		if second.Fence() <= raised || third.Fence() <= second.Fence() || writer.Fence() <= third.Fence() {
			t.Errorf("got numbers %d, %d and %d behind %d", second.Fence(), third.Fence(), writer.Fence(), raised)
		}
		check.NoError(t, writer.Release(ctx))
		w.WantFree(t, w.Keys("w", "r")...)
	})
}

// A release before the time of HoldAtLeast leaves the keys for the rest, and one after it frees them.
func TestHoldAtLeast(t *testing.T) {
	world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
		ctx := t.Context()
		opt := &redislock.Options{HoldAtLeast: time.Hour, Metadata: "host=a"}
		check.NoError(t, w.Client.With(ctx, w.Keys("with"), time.Second, opt, func(context.Context) error { return nil }))
		w.WantTTL(t, w.Key("with"), time.Hour-world.Slack, time.Hour)
		_, err := w.Client.Obtain(ctx, w.Keys("with"), world.Long, nil)
		wantLeft(t, err, w.Key("with"), redislock.ModeWrite)

		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(ctx, redislock.Set{Write: w.Keys("a", "b"), Read: w.Keys("c")}, world.Long, opt))
		check.NoError(t, lock.ReleaseKeys(ctx, w.Keys("a")))
		w.WantTTL(t, w.Key("a"), time.Hour-world.Slack, time.Hour)
		check.NoError(t, lock.Leave(ctx, time.Minute)) // which is sooner
		w.WantTTL(t, w.Key("b"), time.Hour-world.Slack, time.Hour)
		w.WantTTL(t, w.Key("c"), time.Hour-world.Slack, time.Hour)

		short := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("short"), world.Long,
			&redislock.Options{HoldAtLeast: time.Millisecond}))
		time.Sleep(2 * time.Millisecond)
		check.NoError(t, short.Release(ctx))
		w.WantFree(t, w.Keys("short")...)

		long := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("long"), time.Minute,
			&redislock.Options{HoldAtLeast: time.Minute}))
		check.NoError(t, long.Leave(ctx, time.Hour))
		w.WantTTL(t, w.Key("long"), time.Hour-world.Slack, time.Hour)
	})
}

// A part of the set that was lost is not taken back, and the rest is left.
func TestLeaveNamesTheLost(t *testing.T) {
	world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
		ctx := t.Context()
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a", "b"), world.Long, nil))
		check.NoError(t, w.RDB.Set(ctx, w.Key("a"), "other", world.Long).Err())
		err := lock.Leave(ctx, time.Minute)
		check.Is(t, err, redislock.ErrLockNotHeld)
		if err != nil && (!strings.Contains(err.Error(), w.Key("a")) || strings.Contains(err.Error(), w.Key("b"))) {
			t.Errorf("got error %v", err)
		}
		if got := w.RDB.Get(ctx, w.Key("a")).Val(); got != "other" {
			t.Errorf("the key of somebody else holds %q", got)
		}
		w.WantTTL(t, w.Key("b"), time.Minute/2, time.Minute)
	})
}

// Bad times are refused before anything is sent, and the lock stays as it is.
func TestLeaveRefused(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx := t.Context()
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a"), world.Long, nil))
		world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "ttl"}, func() error { return lock.Leave(ctx, 365*24*time.Hour+1) })
		check.NoError(t, lock.Refresh(ctx, world.Long))
		check.Is(t, w.Client.Attach(w.Keys("a"), "").Leave(ctx, time.Second), &redislock.InvalidError{Argument: "token"})
		check.NoError(t, w.Client.Attach(w.Keys("a"), lock.Token()).Leave(ctx, time.Minute))
		w.WantTTL(t, w.Key("a"), time.Minute/2, time.Minute)
	})
}

// Whoever is next in line has the keys as soon as their time is over, and not when it would ask again.
func TestLeaveTellsTheNext(t *testing.T) {
	const most = 100 * time.Millisecond
	for name, left := range map[string]time.Duration{"soon": 300 * time.Millisecond, "late": 12 * time.Second} {
		for kind, modes := range map[string][2][]string{
			"write": {{"a", "b"}, nil}, "read": {nil, {"a", "b"}}, "mixed": {{"a"}, {"b"}},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
					ctx := t.Context()
					lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(ctx, redislock.Set{Write: w.Keys(modes[0]...), Read: w.Keys(modes[1]...)}, world.Long, nil))
					turns := make(chan world.Turn, 2)
					w.Wait(ctx, turns, "first", w.Keys("b", "a"), nil)
					w.InLine(t, w.Key("a"), 1)
					w.Wait(ctx, turns, "second", w.Keys("a"), nil)
					w.InLine(t, w.Key("a"), 2)
					check.NoError(t, lock.Leave(ctx, left))
					end := time.Now().Add(left)
					first := <-turns
					check.NoError(t, first.Err)
					if late := time.Since(end); first.Who != "first" || late < 0 || late > most {
						t.Errorf("%s has its turn %v after the end, want the first within %v", first.Who, late, most)
					}
					check.NoError(t, first.Lock.Release(ctx))
					second := <-turns
					check.NoError(t, second.Lock.Release(ctx))
				})
			})
		}
	}
}
