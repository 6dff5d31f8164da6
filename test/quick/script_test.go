package quick_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A set is taken, refreshed and released in one script each, which is given all of its keys.
func TestOneScript(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		keys := w.Keys("a", "b", "c")
		var runs []check.Run // those of the Client are all on this goroutine
		w.RDB.AddHook(check.Around{Before: func(cmd redis.Cmder) {
			if run := check.RunIn(cmd); run.Script != "" {
				runs = append(runs, run)
			}
		}})
		want := func(what, script string) {
			t.Helper()
			// A server that does not know the script yet is sent it twice: by its hash, then as a text.
			runs = slices.CompactFunc(runs, func(a, b check.Run) bool { return a.Script == b.Script })
			if len(runs) != 1 || runs[0].Script != script {
				t.Fatalf("%s: got %+v, want one run of %s", what, runs, script)
			}
			for _, key := range keys {
				if !slices.Contains(runs[0].Keys, key) {
					t.Errorf("%s: the script was not given %q", what, key)
				}
			}
			runs = nil
		}
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), keys, world.Long, nil))
		want("Obtain", "obtain")
		check.NoError(t, lock.Refresh(t.Context(), 2*world.Long))
		want("Refresh", "refresh")
		check.NoError(t, lock.Release(t.Context()))
		want("Release", "release")
		lock = check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: keys[:1], Read: keys[1:]}, world.Long, nil))
		want("ObtainSet", "rw")
		check.NoError(t, lock.Release(t.Context()))
		want("Release of a mixed set", "release")
	})
}

// No operation leaves a key without a TTL, not even if the server does not let it set one: DESIGN section 11, an ACL without
// pexpire.
func TestEveryKeyHasATTL(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	client := world.NewClient(t, g.RDB)
	keys := []string{"app:a", "app:b"}
	shortly := func(opt redislock.Options) *redislock.Options {
		opt.Wait, opt.RetryStrategy = 20*time.Millisecond, redislock.LinearBackoff(5*time.Millisecond)
		return &opt
	}
	for _, without := range []string{"", "pexpire", "pexpireat"} {
		for name, obtain := range map[string]func(ctx context.Context) (*redislock.Lock, error){
			"a set": func(ctx context.Context) (*redislock.Lock, error) { return client.Obtain(ctx, keys, world.Long, nil) },
			"readers": func(ctx context.Context) (*redislock.Lock, error) {
				return client.ObtainRead(ctx, keys, world.Long, nil)
			},
			"a mixed set with a number": func(ctx context.Context) (*redislock.Lock, error) {
				return client.ObtainSet(ctx, redislock.Set{Write: keys[:1], Read: keys[1:]}, world.Long, &redislock.Options{Fenced: true})
			},
		} {
			if without != "" {
				g.Set(t, "-"+without)
			}
			lock, err := obtain(t.Context())
			if without == "" {
				check.NoError(t, err)
			}
			waits := func(opt redislock.Options) {
				other, err := client.Obtain(t.Context(), keys, world.Long, shortly(opt))
				if err == nil && without == "" {
					t.Errorf("%s: another one was obtained", name)
					_ = other.Release(t.Context())
				}
			}
			waits(redislock.Options{Intent: true})
			waits(redislock.Options{Queue: true})
			if found := g.WithoutTTL(t); len(found) > 0 {
				t.Errorf("%s, without %q: keys without a TTL: %q", name, without, found)
			}
			if without != "" {
				g.Set(t, "+"+without)
			}
			if err == nil {
				check.NoError(t, lock.Release(t.Context()))
			}
			check.NoError(t, g.Admin.FlushDB(t.Context()).Err())
		}
	}
}
