package quick_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// DESIGN section 11: reply of Obtain lost, key stays locked for its TTL.
func TestObtainReplyLost(t *testing.T) {
	t.Parallel()
	faults := []struct {
		name  string
		spoil func(r *redistest.Relay, n int)
		heals bool // the second try is answered
	}{
		{"dropped", func(r *redistest.Relay, n int) { r.DropReplies(n == 1) }, true},
		{"cut after", func(r *redistest.Relay, n int) {
			if n == 1 {
				r.CutReplies()
			}
		}, true},
		{"cut before", func(r *redistest.Relay, n int) {
			if n == 1 {
				r.Cut()
			}
		}, true},
		{"cut and refused", func(r *redistest.Relay, _ int) {
			r.CutReplies()
			r.Refuse(true)
		}, false},
		{"blackholed", func(r *redistest.Relay, _ int) { r.Blackhole(true) }, false},
	}
	for _, fault := range faults {
		for name, mod := range map[string]func(*redis.Options){"once": world.Impatient, "again": world.Persistent} {
			t.Run(fault.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				l := world.NewLossy(t, mod)
				l.On("obtain", func(n int) { fault.spoil(l.Relay, n) })
				lock, err := l.Client.Obtain(t.Context(), []string{l.Key}, world.Long, nil)
				l.Relay.OnRequest(nil)
				l.Relay.DropReplies(false)
				l.Relay.Blackhole(false)
				l.Relay.Refuse(false)
				switch {
				case fault.heals && name == "again":
					check.NoError(t, err)
					if !l.Locked(t) {
						t.Error("a lock was returned, but the key is not there")
					}
					check.NoError(t, lock.Release(t.Context()))
				default:
					world.WantUnknownOutcome(t, err)
				}
				l.Freed(t)
			})
		}
	}
}

// The first try is not answered, and the second one cannot be sent: what the first one has done is still not known.
func TestReplyLostThenRefused(t *testing.T) {
	t.Parallel()
	operations := map[string]func(ctx context.Context, l *world.Lossy, lock *redislock.Lock) error{
		"refresh": func(ctx context.Context, _ *world.Lossy, lock *redislock.Lock) error {
			return lock.Refresh(ctx, world.Long)
		},
		"release": func(ctx context.Context, _ *world.Lossy, lock *redislock.Lock) error { return lock.Release(ctx) },
	}
	for operation, do := range operations {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			l := world.NewLossy(t, world.Persistent)
			lock := l.Obtain(t, l.Key)
			l.On(operation, func(int) {
				l.Relay.CutReplies()
				l.Relay.Refuse(true)
			})
			world.WantUnknownOutcome(t, do(t.Context(), l, lock))
			l.Relay.OnRequest(nil)
			l.Relay.Refuse(false)
			_ = lock.Release(t.Context())
			l.Freed(t)
		})
	}
}

// A refusal must not hide that a later request was not answered: the key may have become free meanwhile, and that request
// may have obtained it.
func TestObtainReplyLostAfterConflict(t *testing.T) {
	t.Parallel()
	l := world.NewLossy(t, world.Impatient)
	other := check.Must[*redislock.Lock](t)(redislock.Obtain(t.Context(), l.Direct, []string{l.Key}, world.Long, nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.On("obtain", func(n int) {
		if n == 2 {
			_ = other.Release(context.Background())
			l.Relay.CutReplies()
		}
	})
	// The wait after the second request is the one in which ctx ends.
	asked := 0
	opt := &redislock.Options{RetryStrategy: func() redislock.BackOff {
		return nextBackOff(func() time.Duration {
			if asked++; asked == 2 {
				cancel()
			}
			return 10 * time.Millisecond
		})
	}}
	_, err := l.Client.Obtain(ctx, []string{l.Key}, world.Long, opt)
	check.Is(t, err, context.Canceled)
	world.WantUnknownOutcome(t, err)
	l.Freed(t)
}

// nextBackOff is a redislock.BackOff without a state of its own.
type nextBackOff func() time.Duration

func (n nextBackOff) NextBackOff() time.Duration { return n() }

// DESIGN section 11: reply later than the TTL, a dead lock returned as live.
func TestObtainReplyLate(t *testing.T) {
	t.Parallel()
	const ttl = 400 * time.Millisecond
	delays := map[string]func(r *redistest.Relay, d time.Duration){
		"reply":   (*redistest.Relay).DelayReplies,
		"request": (*redistest.Relay).DelayRequests,
	}
	for name, delay := range delays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := world.NewLossy(t, func(*redis.Options) {})
			var released atomic.Bool
			l.Relay.OnRequest(func(name string, args []string) {
				l.Relay.DelayRequests(0)
				switch world.OperationOf(name, args) {
				case "obtain":
					delay(l.Relay, ttl+50*time.Millisecond)
				case "release":
					released.Store(true)
				}
			})
			lock, err := l.Client.Obtain(t.Context(), []string{l.Key}, ttl, nil)
			delay(l.Relay, 0)
			check.Is(t, err, redislock.ErrNotObtained)
			if lock != nil {
				t.Error("got a lock whose time was over")
			}
			check.Eventually(t, world.Soon, "the key is released, not left to expire", released.Load)
			l.Freed(t)
		})
	}
}
