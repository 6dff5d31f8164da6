package redislock_test

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
)

// guardCommands are those that close what was not answered.
var guardCommands = []string{"zadd", "zscore", "zremrangebyscore", "pttl", "pexpire"}

// losing has the answer to the next run of a script lost, once it is told which.
func losing(rdb *redis.Client) *atomic.Value {
	script := new(atomic.Value)
	script.Store("")
	rdb.AddHook(check.Around(func(cmd redis.Cmder, send func() error) error {
		err := send()
		if name := check.RunIn(cmd).Script; err == nil && name != "" && script.CompareAndSwap(name, "") {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return err
	}))
	return script
}

// A user who may not set guards releases all the same, and closes nothing. What has to be behind a request
// that was not answered is refused, because it could be undone.
func TestACLWithoutGuards(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "app:")
	lost := losing(g.rdb)
	client := redislock.New(g.rdb)
	t.Cleanup(client.Close)
	for _, command := range guardCommands {
		for name, do := range map[string]func(context.Context, *redislock.Lock) error{
			"release":     func(ctx context.Context, l *redislock.Lock) error { return l.Release(ctx) },
			"releaseKeys": func(ctx context.Context, l *redislock.Lock) error { return l.ReleaseKeys(ctx, l.Keys()[0]) },
			"refresh":     func(ctx context.Context, l *redislock.Lock) error { return l.Refresh(ctx, long) },
			"downgrade":   func(ctx context.Context, l *redislock.Lock) error { return l.Downgrade(ctx) },
			"upgrade":     func(ctx context.Context, l *redislock.Lock) error { return l.Upgrade(ctx) },
		} {
			a, b := "app:"+command+":"+name+":a", "app:"+command+":"+name+":b"
			lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{a, b}, long, nil))
			noError(t, lock.Refresh(t.Context(), long)) // the server knows the script
			lost.Store("refresh")
			wantIs(t, lock.Refresh(t.Context(), long/2), redislock.ErrUnknownOutcome)
			g.set(t, "-"+command)
			err := do(t.Context(), lock)
			g.set(t, "+"+command)
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
			if left := g.admin.Exists(t.Context(), a).Val(); left > 0 {
				t.Errorf("%s without %s: the key is not free", name, command)
			}
			if n := check.Guards(t.Context(), g.admin, "redislock:line:{"+a+"}"); n > 0 {
				t.Errorf("%s without %s: there are %d guards", name, command, n)
			}
		}
		if found := g.immortal(t); len(found) > 0 {
			t.Errorf("without %s: keys without a TTL: %q", command, found)
		}
	}
}

// A guard of somebody else, which a user may not look for, does not keep a Release from freeing.
func TestACLReleaseBesideGuards(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "app:")
	client := redislock.New(g.rdb)
	t.Cleanup(client.Close)
	for _, command := range append([]string{"zrange"}, guardCommands...) {
		key := "app:" + command
		lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, long, nil))
		noError(t, putGuard(t.Context(), g.admin, "redislock:line:{"+key+"}"))
		g.set(t, "-"+command)
		if err := lock.Release(t.Context()); err != nil {
			t.Errorf("without %s: got error %v", command, err)
		}
		if command == "zscore" {
			_, err := client.Obtain(t.Context(), []string{key}, long, nil)
			wantClear(t, "obtain without "+command, err, key)
		}
		g.set(t, "+"+command)
		if left := g.admin.Exists(t.Context(), key).Val(); left > 0 {
			t.Errorf("without %s: the key is not free", command)
		}
	}
}

// The same for an Obtain under a caller's own token. Its clean-up frees the key, and goes on until it may
// close what it was about.
func TestACLObtainWithoutGuards(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "app:")
	lost := losing(g.rdb)
	client := redislock.New(g.rdb)
	t.Cleanup(client.Close)
	warm := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"app:warm"}, long, nil))
	noError(t, warm.Release(t.Context()))
	for _, command := range guardCommands {
		keys, opt := []string{"app:" + command}, &redislock.Options{Token: t.Name() + command}
		g.set(t, "-"+command)
		lost.Store("obtain")
		_, err := client.Obtain(t.Context(), keys, time.Minute, opt)
		wantIs(t, err, redislock.ErrUnknownOutcome)
		eventually(t, soon, "the clean-up frees the key", func() bool { return g.admin.Exists(t.Context(), keys...).Val() == 0 })
		_, err = client.Obtain(t.Context(), keys, time.Minute, opt)
		wantClear(t, "obtain without "+command, err, keys[0])
		g.set(t, "+"+command)
		lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, time.Minute, opt))
		if n := check.Guards(t.Context(), g.admin, "redislock:line:{"+keys[0]+"}"); n != 1 {
			t.Errorf("%s: there are %d guards after an answered request, want that of the owner", command, n)
		}
		noError(t, lock.Release(t.Context()))
	}
}

// Who never waits, and may do with what is beside its keys no more than look whether it is there, is hindered
// by nothing as long as all is answered.
func TestACLOfWhoNeverWaits(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "app:")
	lost := losing(g.rdb)
	for _, command := range []string{"zadd", "zscore", "zremrangebyscore", "zrevrangebyscore", "zrange", "subscribe", "publish", "spublish"} {
		g.set(t, "-"+command)
	}
	client := redislock.New(g.rdb)
	t.Cleanup(client.Close)
	for _, keys := range [][]string{{"app:a"}, {"app:a", "app:b"}} {
		lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, long, nil))
		noError(t, errors.Join(lock.Refresh(t.Context(), 2*long), lock.Release(t.Context())))
	}
	lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"app:a"}, long, nil))
	lost.Store("release")
	wantIs(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome)
	noError(t, lock.Release(t.Context()))
}
