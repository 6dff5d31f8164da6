package redislock_test

import (
	"context"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A detour is the way of the first request to the server, which lasts until it is let go on. Nobody else
// asks that server meanwhile.
type detour struct {
	l        *lossy
	released atomic.Bool // a release was answered
	goOn     func()      // lets the request go on
}

// newDetour calls seen, which may be nil, when the request has come to it.
func newDetour(t *testing.T, l *lossy, seen func()) *detour {
	t.Helper()
	held := make(chan struct{})
	d := &detour{l: l, goOn: sync.OnceFunc(func() { close(held) })}
	t.Cleanup(d.goOn)
	var scripts atomic.Int64
	l.relay.OnRequest(func(name string, args []string) {
		if operationOf(name, args) == "" || scripts.Add(1) > 1 {
			return
		}
		if seen != nil {
			seen()
		}
		<-held
	})
	l.rdb.AddHook(check.Around(func(cmd redis.Cmder, send func() error) error {
		err := send()
		if err == nil && check.RunIn(cmd).Of("release") {
			d.released.Store(true)
		}
		return err
	}))
	return d
}

var scriptsRun = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`)

// executed counts the scripts that the server has run.
func (d *detour) executed(t *testing.T) int {
	t.Helper()
	info := must[string](t)(d.l.direct.Info(t.Context(), "commandstats").Result())
	return must[int](t)(strconv.Atoi(scriptsRun.FindStringSubmatch(info)[1]))
}

// lands lets the request go on, and waits until the server has executed it.
func (d *detour) lands(t *testing.T) {
	t.Helper()
	before := d.executed(t)
	d.goOn()
	eventually(t, soon, "the request has landed", func() bool { return d.executed(t) > before })
}

// landsForNothing is lands where the key is free, and stays so.
func (d *detour) landsForNothing(t *testing.T) {
	t.Helper()
	if d.l.locked(t) {
		t.Fatal("the key is there after its release, want the request overtaken")
	}
	if d.lands(t); d.l.locked(t) {
		t.Error("a request has locked the key after what was sent later was answered")
	}
}

// DESIGN section 11: a delayed Obtain lands after its own clean-up.
func TestObtainLandsAfterCleanUp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"time-out", "cancelled", "read"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLossyAt(t, redistest.Start(t, redistest.Redis), impatient)
			obtain := l.client.Obtain
			if name == "read" {
				obtain = l.client.ObtainRead
			}
			// The server has to know the script, or the request would do nothing when it lands.
			warm := must[*redislock.Lock](t)(obtain(t.Context(), []string{l.key + "warm"}, long, nil))
			noError(t, warm.Release(t.Context()))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d := newDetour(t, l, func() {
				if name == "cancelled" {
					cancel()
				}
			})
			_, err := obtain(ctx, []string{l.key}, long, nil)
			wantIs(t, err, redislock.ErrUnknownOutcome)
			if name == "cancelled" {
				wantIs(t, err, context.Canceled)
			}
			eventually(t, soon, "there was a clean-up", d.released.Load)
			d.landsForNothing(t)
		})
	}
}

// An earlier try of an Obtain that succeeded lands after its Release.
func TestObtainTryLandsAfterRelease(t *testing.T) {
	t.Parallel()
	l := newLossyAt(t, redistest.Start(t, redistest.Redis), persistent)
	d := newDetour(t, l, nil)
	lock := l.obtain(t, l.key)
	noError(t, lock.Release(t.Context()))
	d.landsForNothing(t)
}

// An earlier try of an Obtain lands after what was done with its lock, and changes nothing of that. Nobody
// waits for it.
func TestObtainTryLandsWithinItsHold(t *testing.T) {
	t.Parallel()
	const ttl = 5 * time.Second
	t.Run("after a Refresh", func(t *testing.T) {
		t.Parallel()
		l := newLossyAt(t, redistest.Start(t, redistest.Redis), persistent)
		d := newDetour(t, l, nil)
		lock := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key}, ttl, nil))
		noError(t, lock.Refresh(t.Context(), long))
		left := time.Until(lock.Deadline())
		if left < long/2 {
			t.Errorf("it counts on %v, want all of what was confirmed", left)
		}
		d.lands(t)
		if lease := must[time.Duration](t)(l.direct.PTTL(t.Context(), l.key).Result()); lease < time.Until(lock.Deadline()) {
			t.Errorf("got a lease of %v, and it counts on %v", lease, time.Until(lock.Deadline()))
		}
		noError(t, lock.Release(t.Context()))
	})
	t.Run("after an Upgrade", func(t *testing.T) {
		t.Parallel()
		l := newLossyAt(t, redistest.Start(t, redistest.Redis), persistent)
		warm := must[*redislock.Lock](t)(l.client.ObtainRead(t.Context(), []string{l.key + "warm"}, long, nil))
		noError(t, warm.Release(t.Context()))
		d := newDetour(t, l, nil)
		lock := must[*redislock.Lock](t)(l.client.ObtainRead(t.Context(), []string{l.key}, long, nil))
		began := time.Now()
		noError(t, lock.Upgrade(t.Context()))
		if waited := time.Since(began); waited > ttl {
			t.Errorf("the Upgrade took %v", waited)
		}
		d.lands(t)
		_, err := redislock.New(l.direct).ObtainRead(t.Context(), []string{l.key}, long, nil)
		wantConflict(t, err, l.key, redislock.ModeWrite)
		noError(t, lock.Release(t.Context()))
	})
}
