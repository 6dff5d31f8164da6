package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// DESIGN section 11: reply of Release lost, resent by the client: "not held" although it worked.
func TestReleaseReplyLost(t *testing.T) {
	t.Parallel()
	faults := map[string]func(r *redistest.Relay, n int){
		"dropped": func(r *redistest.Relay, n int) { r.DropReplies(n == 1) },
		"cut after": func(r *redistest.Relay, n int) {
			if n == 1 {
				r.CutReplies()
			}
		},
	}
	for name, spoil := range faults {
		t.Run(name+"/again", func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, persistent)
			lock := l.obtain(t, l.key)
			l.on("release", func(n int) { spoil(l.relay, n) })
			noError(t, lock.Release(t.Context()))
			if l.locked(t) {
				t.Error("the key is there after its release")
			}
		})
		t.Run(name+"/once", func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, impatient)
			lock := l.obtain(t, l.key)
			l.on("release", func(n int) { spoil(l.relay, n) })
			unknownOutcome(t, lock.Release(t.Context()))
			l.freed(t)
		})
	}
	t.Run("request lost, once", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		lock := l.obtain(t, l.key)
		l.on("release", func(n int) {
			if n == 1 {
				l.relay.Cut()
			}
		})
		unknownOutcome(t, lock.Release(t.Context()))
		l.freed(t)
	})
}

func TestReleaseTellsARealLoss(t *testing.T) {
	t.Parallel()
	clients := map[string]func(rdb *redis.Client) redis.Scripter{
		"client":   func(rdb *redis.Client) redis.Scripter { return rdb },
		"scripter": func(rdb *redis.Client) redis.Scripter { return onlyScripter{rdb} },
	}
	for name, wrap := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := redistest.Start(t, redistest.Redis).Client(t) // one that knows no script
			client := redislock.New(wrap(rdb))
			t.Cleanup(client.Close)
			lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, long, nil))
			noError(t, rdb.Set(t.Context(), t.Name(), "somebody", long).Err())
			err := lock.Release(t.Context())
			wantIs(t, err, redislock.ErrLockNotHeld)
			if !strings.Contains(err.Error(), fmt.Sprintf("%q", t.Name())) {
				t.Errorf("got error %v, want one that names the key", err)
			}
			if got := rdb.Get(t.Context(), t.Name()).Val(); got != "somebody" {
				t.Errorf("got value %q after the release, want that of the new holder", got)
			}
		})
	}
}

// DESIGN section 11: Release on a cancelled ctx leaves the key.
func TestReleaseCancelled(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, persistent)
		lock := l.obtain(t, l.key)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		noError(t, lock.Release(ctx))
		if l.locked(t) {
			t.Error("the key is there after its release")
		}
	})
	t.Run("while it is under way", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, persistent)
		lock := l.obtain(t, l.key)
		ctx, cancel := context.WithCancel(t.Context())
		l.on("release", func(int) { cancel() })
		noError(t, lock.Release(ctx))
		if l.locked(t) {
			t.Error("the key is there after its release")
		}
	})
	t.Run("while the server cannot be reached", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, persistent)
		lock := l.obtain(t, l.key)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l.rdb.AddHook(check.Around(func(_ redis.Cmder, send func() error) error {
			cancel()
			return send()
		}))
		l.relay.Blackhole(true)
		wantIs(t, lock.Release(ctx), redislock.ErrUnknownOutcome, context.Canceled)
		if !l.locked(t) {
			t.Fatal("the key is free, want the release to be still to come")
		}
		l.relay.Blackhole(false)
		l.freed(t)
	})
}

// The clean-up of an Obtain of which nothing is known must not take the keys from the next Obtain
// of the same token.
func TestTokenAfterUnknownOutcome(t *testing.T) {
	t.Parallel()
	t.Run("clean-up after", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		opt := &redislock.Options{Token: t.Name()}
		l.on("obtain", func(n int) {
			if n == 1 {
				l.relay.CutReplies()
			}
		})
		_, err := l.client.Obtain(t.Context(), []string{l.key}, long, opt)
		unknownOutcome(t, err)
		lock := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key}, long, opt))
		stillHeld(t, l, lock, 500*time.Millisecond)
	})
	t.Run("clean-up under way", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		opt := &redislock.Options{Token: t.Name()}
		held := make(chan struct{})
		var once sync.Once
		l.relay.OnRequest(func(name string, args []string) {
			switch operationOf(name, args) {
			case "obtain":
				once.Do(l.relay.CutReplies)
			case "release":
				l.relay.DelayRequests(replyTimeout / 10) // within the time-out
				select {
				case <-held:
				default:
					close(held)
				}
			}
		})
		_, err := l.client.Obtain(t.Context(), []string{l.key}, long, opt)
		unknownOutcome(t, err)
		<-held
		l.relay.DelayRequests(0)
		lock := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key}, long, opt))
		stillHeld(t, l, lock, 500*time.Millisecond)
	})
	t.Run("clean-up delayed beyond its own time-out", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		opt := &redislock.Options{Token: t.Name()}
		delayed := make(chan struct{})
		var cut, delay sync.Once
		l.relay.OnRequest(func(name string, args []string) {
			l.relay.DelayRequests(0)
			switch operationOf(name, args) {
			case "obtain":
				cut.Do(l.relay.CutReplies)
			case "release":
				delay.Do(func() {
					l.relay.DelayRequests(2 * replyTimeout)
					close(delayed)
				})
			}
		})
		_, err := l.client.Obtain(t.Context(), []string{l.key}, long, opt)
		unknownOutcome(t, err)
		<-delayed
		ctx, cancel := context.WithTimeout(t.Context(), 3*replyTimeout/2)
		defer cancel()
		lock, err := l.client.Obtain(ctx, []string{l.key}, long, opt)
		if err != nil {
			return // not yet: nothing that could be taken away
		}
		stillHeld(t, l, lock, 2*replyTimeout)
	})
}

// A Release of which nothing is known must not take the keys from the next Obtain of the same token:
// not with a request that is late, nor with one that was given up and sent again.
func TestTokenAfterUnknownRelease(t *testing.T) {
	t.Parallel()
	for name, mod := range map[string]func(*redis.Options){
		"cancelled": persistent,
		"timed out": impatient,
		"sent again": func(opt *redis.Options) {
			impatient(opt)
			opt.MaxRetries = 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const late = time.Second // longer than the time-out of the impatient
			l := newLossy(t, mod)
			opt := &redislock.Options{Token: t.Name()}
			first := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key}, long, opt))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l.on("release", func(n int) {
				if n > 1 {
					return
				}
				l.relay.DelayRequests(late)
				if name == "cancelled" {
					cancel()
				}
			})
			if err := first.Release(ctx); err != nil {
				wantIs(t, err, redislock.ErrUnknownOutcome)
			}
			ctx, cancel = context.WithTimeout(t.Context(), late)
			defer cancel()
			lock, err := l.client.Obtain(ctx, []string{l.key}, long, opt)
			if err != nil {
				return // not yet: nothing that could be taken away
			}
			stillHeld(t, l, lock, 3*late/2)
		})
	}
}

// stillHeld checks for a while that nothing takes the lock away.
func stillHeld(t *testing.T, l *lossy, lock *redislock.Lock, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if !l.locked(t) {
			t.Fatal("the lock was taken away by what an earlier one has left behind")
		}
	}
	noError(t, lock.Release(t.Context()))
	l.freed(t)
}
