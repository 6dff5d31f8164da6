package redislock_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// A detour is the way of the first obtain to the server, which lasts until it is let go on.
type detour struct {
	l        *lossy
	released atomic.Bool // the first release was answered
	goOn     func()      // lets the obtain go on
	landed   func()      // lets the releases go on that come after the first
}

// newDetour calls seen, which may be nil, when the obtain has come to it. All releases but the first
// wait until it has landed: or it could be over before anybody sees it.
func newDetour(t *testing.T, l *lossy, seen func()) *detour {
	t.Helper()
	goOn, landed := make(chan struct{}), make(chan struct{})
	d := &detour{
		l:      l,
		goOn:   sync.OnceFunc(func() { close(goOn) }),
		landed: sync.OnceFunc(func() { close(landed) }),
	}
	t.Cleanup(d.goOn)
	t.Cleanup(d.landed)
	var obtains, releases atomic.Int64
	l.relay.OnRequest(func(name string, args []string) {
		if !strings.HasPrefix(name, "EVAL") || operationOf(name, args) == "release" || obtains.Add(1) > 1 {
			return
		}
		if seen != nil {
			seen()
		}
		<-goOn
	})
	l.rdb.AddHook(check.Around(func(cmd redis.Cmder, send func() error) error {
		if !redislock.RunIn(cmd).Of("release") {
			return send()
		}
		if releases.Add(1) > 1 {
			<-landed
		}
		defer d.released.Store(true)
		return send()
	}))
	return d
}

// lands lets the obtain go on, and waits until it has taken the key.
func (d *detour) lands(t *testing.T) {
	t.Helper()
	if d.l.locked(t) {
		t.Fatal("the key is there after its release, want the request overtaken")
	}
	d.goOn()
	eventually(t, soon, "the request has landed", func() bool { return d.l.locked(t) })
	d.landed()
}

// DESIGN section 11: a delayed Obtain lands after its own clean-up.
func TestObtainLandsAfterCleanUp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"time-out", "cancelled", "read"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, impatient)
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
			d.lands(t)
			l.freed(t)
		})
	}
}

// An earlier try of an Obtain that succeeded lands after its Release.
func TestObtainTryLandsAfterRelease(t *testing.T) {
	t.Parallel()
	l := newLossy(t, persistent)
	d := newDetour(t, l, nil)
	lock := l.obtain(t, l.key)
	noError(t, lock.Release(t.Context()))
	d.lands(t)
	l.freed(t)
}
