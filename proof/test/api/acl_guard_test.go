package api_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// guardCommands are those that close what was not answered.
var guardCommands = []string{"zadd", "zscore", "zremrangebyscore", "pttl", "pexpire"}

// losing returns a Client that loses the answer to the next run of a script, once it is told which. It sends each command by
// itself: a clean-up that is under way would go together with what is to be lost, and that would not be seen.
func losing(t *testing.T, rdb *redis.Client) (*redislock.Client, *atomic.Value) {
	t.Helper()
	script := new(atomic.Value)
	script.Store("")
	rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
		if name := check.RunIn(cmd).Script; cmd.Err() == nil && name != "" && script.CompareAndSwap(name, "") {
			cmd.SetErr(io.EOF)
		}
	}})
	client := redislock.New(struct{ *redis.Client }{rdb}) // whose type is not known
	t.Cleanup(client.Close)
	return client, script
}

// The Release of a user that may not set guards works all the same, but closes nothing. Operations after a request without
// an answer are refused, because that request could undo them.
func TestACLWithoutGuards(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	client, lost := losing(t, g.RDB)
	for _, command := range guardCommands {
		for name, do := range map[string]func(context.Context, *redislock.Lock) error{
			"release":     func(ctx context.Context, l *redislock.Lock) error { return l.Release(ctx) },
			"releaseKeys": func(ctx context.Context, l *redislock.Lock) error { return l.ReleaseKeys(ctx, []string{l.Keys()[0]}) },
			"refresh":     func(ctx context.Context, l *redislock.Lock) error { return l.Refresh(ctx, world.Long) },
			"downgrade":   func(ctx context.Context, l *redislock.Lock) error { return l.Downgrade(ctx) },
			"upgrade":     func(ctx context.Context, l *redislock.Lock) error { return l.Upgrade(ctx) },
		} {
			a, b := "app:"+command+":"+name+":a", "app:"+command+":"+name+":b"
			lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{a, b}, world.Long, nil))
			check.NoError(t, lock.Refresh(t.Context(), world.Long)) // the server knows the script
			lost.Store("refresh")
			check.Is(t, lock.Refresh(t.Context(), world.Long/2), redislock.ErrUnknownOutcome)
			again := without(t, g, command)
			err := do(t.Context(), lock)
			again()
			if !strings.HasPrefix(name, "release") {
				wantClear(t, name+" without "+command, err, a)
				if err := do(t.Context(), lock); err != nil {
					t.Errorf("%s: got error %v, though the user may do it now", name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s without %s: got error %v", name, command, err)
			}
			if left := g.Admin.Exists(t.Context(), a).Val(); left > 0 {
				t.Errorf("%s without %s: the key is not free", name, command)
			}
			if n := check.Guards(t.Context(), g.Admin, "redislock:line:{"+a+"}"); n > 0 {
				t.Errorf("%s without %s: there are %d guards", name, command, n)
			}
		}
		if found := g.WithoutTTL(t); len(found) > 0 {
			t.Errorf("without %s: keys without a TTL: %q", command, found)
		}
	}
}

// A guard of somebody else, which a user may not look for, does not keep a Release from freeing.
func TestACLReleaseBesideGuards(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	client := redislock.New(g.RDB)
	t.Cleanup(client.Close)
	for _, command := range append([]string{"zrange"}, guardCommands...) {
		key := "app:" + command
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, world.Long, nil))
		check.NoError(t, putGuard(t.Context(), g.Admin, "redislock:line:{"+key+"}"))
		again := without(t, g, command)
		if err := lock.Release(t.Context()); err != nil {
			t.Errorf("without %s: got error %v", command, err)
		}
		if command == "zscore" {
			_, err := client.Obtain(t.Context(), []string{key}, world.Long, nil)
			wantClear(t, "obtain without "+command, err, key)
		}
		again()
		if left := g.Admin.Exists(t.Context(), key).Val(); left > 0 {
			t.Errorf("without %s: the key is not free", command)
		}
		if n := check.Guards(t.Context(), g.Admin, "redislock:line:{"+key+"}"); n != 1 {
			t.Errorf("without %s: there are %d guards, want that of the other owner", command, n)
		}
	}
}

// The same for an Obtain under a caller's own token. Its clean-up frees the key, and goes on until it may
// close what it was about.
func TestACLObtainWithoutGuards(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	client, lost := losing(t, g.RDB)
	warm := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"app:warm"}, world.Long, nil))
	check.NoError(t, warm.Release(t.Context()))
	for _, command := range guardCommands {
		keys, own := []string{"app:" + command}, client.As(t.Name()+command)
		again := without(t, g, command)
		lost.Store("obtain")
		_, err := own.Obtain(t.Context(), keys, time.Minute, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		check.Eventually(t, world.Soon, "the clean-up frees the key", func() bool { return g.Admin.Exists(t.Context(), keys...).Val() == 0 })
		_, err = own.Obtain(t.Context(), keys, time.Minute, nil)
		wantClear(t, "obtain without "+command, err, keys[0])
		again()
		lock := check.Must[*redislock.Lock](t)(own.Obtain(t.Context(), keys, time.Minute, nil))
		if n := check.Guards(t.Context(), g.Admin, "redislock:line:{"+keys[0]+"}"); n != 1 {
			t.Errorf("%s: there are %d guards after an answered request, want that of the owner", command, n)
		}
		check.NoError(t, lock.Release(t.Context()))
	}
}

// A caller that never waits needs no right to write or read the keys beside its own, as long as every request is answered:
// it only looks whether they exist. It is told as ever that a lock has ended.
func TestACLOfWhoNeverWaits(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	for _, command := range []string{"zadd", "zscore", "zremrangebyscore", "zrevrangebyscore", "zrange", "zpopmin", "subscribe", "publish"} {
		g.Set(t, "-"+command)
	}
	client, lost := losing(t, g.RDB)
	for _, keys := range [][]string{{"app:a"}, {"app:a", "app:b"}} {
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, world.Long, nil))
		check.NoError(t, errors.Join(lock.Refresh(t.Context(), 2*world.Long), lock.Release(t.Context())))
	}
	lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"app:a"}, world.Long, nil))
	check.NoError(t, g.Admin.Del(t.Context(), "app:a").Err())
	_, err := lock.TTL(t.Context())
	check.Is(t, err, redislock.ErrLockNotHeld)
	check.Is(t, lock.Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld)
	check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	lock = check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"app:a"}, world.Long, nil))
	lost.Store("release")
	check.Is(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome)
	check.NoError(t, lock.Release(t.Context()))
}
