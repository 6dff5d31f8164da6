package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What an operation cannot do is refused before anything is sent, and the lock is as it was.
func TestOperationsThatAreRefused(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		client := world.NewClient(t, w.RDB, redislock.WithKeyPrefix(w.Prefix))
		plain := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a", "b"}, time.Minute, nil))
		fenced := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"c"}, time.Minute, world.Fenced()))
		attached, ctx := client.Attach([]string{"a"}, plain.Token()), t.Context()
		sent := check.Count(w.RDB, "eval")
		got := map[string]string{}
		for name, err := range map[string]error{
			"Refresh":                plain.Refresh(ctx, 0),
			"Leave":                  plain.Leave(ctx, 366*24*time.Hour),
			"ReleaseKeys of nothing": plain.ReleaseKeys(ctx, nil),
			"ReleaseKeys of others":  plain.ReleaseKeys(ctx, []string{"a", "c"}),
			"Downgrade":              attached.Downgrade(ctx),
			"RaiseFence":             plain.RaiseFence(ctx, 1),
			"RaiseFence to nothing":  fenced.RaiseFence(ctx, 0),
			"RaiseFence to much":     fenced.RaiseFence(ctx, 1<<52+1),
		} {
			if err != nil {
				got[name] = err.Error()
			}
		}
		want := map[string]string{
			"Refresh":                "redislock: refresh: invalid ttl: 0s is not between 1ms and 8760h0m0s",
			"Leave":                  "redislock: leave: invalid ttl: 8784h0m0s is not between 1ms and 8760h0m0s",
			"ReleaseKeys of nothing": "redislock: release: invalid keys: none are named",
			"ReleaseKeys of others":  `redislock: release: invalid keys: "c" is not in the set`,
			"Downgrade":              `redislock: downgrade "a": invalid ttl: an attached lock has none before a Refresh`,
			"RaiseFence":             `redislock: raise fence "a" and 1 more: the lock was obtained without Fenced`,
			"RaiseFence to nothing":  "redislock: raise fence: invalid number: 0 is not between 1 and 4503599627370496",
			"RaiseFence to much":     "redislock: raise fence: invalid number: 4503599627370497 is not between 1 and 4503599627370496",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
		if n := sent.Load(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		check.NoError(t, plain.Release(ctx))
		w.WantFree(t, w.Keys("a", "b")...)
	})
}

// The event of a Release says whether Redis was asked, for how long the lock was held, and for how long its keys stay taken,
// which is nothing if they were not ours any more.
func TestEventsOfReleases(t *testing.T) {
	type said struct {
		Attempts   int
		Held, Kept time.Duration
		Failed     bool
	}
	held := func(ctx context.Context, lock *redislock.Lock, _ *world.World) { _ = lock.Release(ctx) }
	for name, c := range map[string]struct {
		least time.Duration // HoldAtLeast
		ends  func(ctx context.Context, lock *redislock.Lock, w *world.World)
		want  []said
	}{
		"Release":     {0, held, []said{{1, time.Second, 0, false}}},
		"HoldAtLeast": {time.Minute, held, []said{{1, time.Second, time.Minute - time.Second, false}}},
		"lost": {time.Minute, func(ctx context.Context, lock *redislock.Lock, w *world.World) {
			w.RDB.Del(ctx, w.Key("a"))
			_ = lock.Release(ctx)
		}, []said{{1, time.Second, 0, true}}},
		"Leave, and Release": {0, func(ctx context.Context, lock *redislock.Lock, _ *world.World) {
			_ = lock.Leave(ctx, time.Hour)
			_ = lock.Release(ctx)
		}, []said{{1, time.Second, time.Hour, false}, {0, time.Second, 0, true}}},
		"ReleaseKeys": {time.Minute, func(ctx context.Context, lock *redislock.Lock, w *world.World) {
			_ = lock.ReleaseKeys(ctx, w.Keys("b"))
			_ = lock.Release(ctx)
		}, []said{{1, time.Second, time.Minute - time.Second, false}, {1, time.Second, time.Minute - time.Second, false}}},
		"attached": {0, func(ctx context.Context, lock *redislock.Lock, w *world.World) {
			_ = lock.Refresh(ctx, time.Minute)
			w.RDB.Del(ctx, w.Keys("a", "b")...)
			_ = lock.Release(ctx)
		}, []said{{1, 0, 0, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				var got []said
				client := world.NewClient(t, w.RDB, redislock.WithHooks(redislock.Hooks{Released: func(_ context.Context, e redislock.Event) {
					got = append(got, said{e.Attempts, e.Held, e.Kept, e.Err != nil})
				}}))
				lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a", "b"), time.Hour, &redislock.Options{HoldAtLeast: c.least}))
				time.Sleep(time.Second)
				if name == "attached" {
					lock = client.Attach(w.Keys("a", "b"), lock.Token())
				}
				c.ends(t.Context(), lock, w)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}
