package redislock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// lossy is a client of a real server behind a relay that loses, holds and delays what passes.
type lossy struct {
	relay  *redistest.Relay
	direct *redis.Client // goes past the relay
	rdb    *redis.Client
	client *redislock.Client
	key    string
}

// replyTimeout is after what a lost reply is given up: a busy machine takes less for one that comes.
const replyTimeout = time.Second

// impatient gives up on a reply soon and does not ask again.
func impatient(o *redis.Options) {
	o.ReadTimeout = replyTimeout
	o.MaxRetries = -1
}

// persistent gives up on a reply soon and asks again, as often as go-redis does by default.
func persistent(o *redis.Options) { o.ReadTimeout = replyTimeout }

// newLossy makes a client with an open connection, to a server that knows the scripts: what a test
// then sees pass is what it asked for.
func newLossy(t *testing.T, mod func(*redis.Options)) *lossy {
	t.Helper()
	return newLossyAt(t, redistest.Shared(t, redistest.Redis), mod)
}

func newLossyAt(t *testing.T, b redistest.Backend, mod func(*redis.Options)) *lossy {
	t.Helper()
	l := &lossy{relay: redistest.NewRelay(t, b.Addr()), direct: b.Client(t), key: t.Name()}
	l.rdb = l.relay.Client(t, mod)
	l.client = redislock.New(l.rdb)
	t.Cleanup(func() { l.direct.Del(context.Background(), l.key) })
	t.Cleanup(l.client.Close)
	warm := l.obtain(t, l.key+":warm")
	noError(t, warm.Refresh(t.Context(), long))
	noError(t, warm.Downgrade(t.Context()))
	noError(t, warm.Release(t.Context()))
	return l
}

func (l *lossy) obtain(t *testing.T, key string) *redislock.Lock {
	t.Helper()
	return must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{key}, long, nil))
}

func (l *lossy) locked(t *testing.T) bool {
	t.Helper()
	return must[int64](t)(l.direct.Exists(t.Context(), l.key).Result()) == 1
}

// freed waits until the key is gone, which its ttl alone would take longer to do.
func (l *lossy) freed(t *testing.T) {
	t.Helper()
	eventually(t, 5*time.Second, "the key is free", func() bool { return !l.locked(t) })
}

// on calls fn with the number, from 1, of each command of the operation. What fn has
// dropped or delayed is over with the next command, those that open a connection included.
func (l *lossy) on(operation string, fn func(n int)) {
	var n atomic.Int64
	l.relay.OnRequest(func(name string, args []string) {
		l.relay.DropReplies(false)
		l.relay.DelayRequests(0)
		if operationOf(name, args) == operation {
			fn(int(n.Add(1)))
		}
	})
}

// operationOf is the script that a command runs, if any.
func operationOf(name string, args []string) string {
	return check.RunOf(append([]string{name}, args...)...).Script
}

// unknownOutcome checks that the error says so, with its cause, and nothing that is not known.
func unknownOutcome(t *testing.T, err error) {
	t.Helper()
	wantIs(t, err, redislock.ErrUnknownOutcome)
	if errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("got error %v, want one that is not ErrNotObtained", err)
	}
	if _, ok := errors.AsType[net.Error](err); !ok && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want its cause in it", err)
	}
}

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
		for name, mod := range map[string]func(*redis.Options){"once": impatient, "again": persistent} {
			t.Run(fault.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				l := newLossy(t, mod)
				l.on("obtain", func(n int) { fault.spoil(l.relay, n) })
				lock, err := l.client.Obtain(t.Context(), []string{l.key}, long, nil)
				l.relay.OnRequest(nil)
				l.relay.DropReplies(false)
				l.relay.Blackhole(false)
				l.relay.Refuse(false)
				switch {
				case fault.heals && name == "again":
					noError(t, err)
					if !l.locked(t) {
						t.Error("a lock was returned, but the key is not there")
					}
					noError(t, lock.Release(t.Context()))
				default:
					unknownOutcome(t, err)
				}
				l.freed(t)
			})
		}
	}
}

// A first try of which nothing is known, and a second one that could not be sent: what the first
// has done is still not known.
func TestReplyLostThenRefused(t *testing.T) {
	t.Parallel()
	operations := map[string]func(ctx context.Context, l *lossy, lock *redislock.Lock) error{
		"refresh": func(ctx context.Context, _ *lossy, lock *redislock.Lock) error { return lock.Refresh(ctx, long) },
		"release": func(ctx context.Context, _ *lossy, lock *redislock.Lock) error { return lock.Release(ctx) },
	}
	for operation, do := range operations {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, persistent)
			lock := l.obtain(t, l.key)
			l.on(operation, func(int) {
				l.relay.CutReplies()
				l.relay.Refuse(true)
			})
			unknownOutcome(t, do(t.Context(), l, lock))
			l.relay.OnRequest(nil)
			l.relay.Refuse(false)
			_ = lock.Release(t.Context())
			l.freed(t)
		})
	}
}

// A refusal that is known must not hide that of a later request nothing is known: the key may have
// become free meanwhile, and ours.
func TestObtainReplyLostAfterConflict(t *testing.T) {
	t.Parallel()
	l := newLossy(t, impatient)
	other := must[*redislock.Lock](t)(redislock.Obtain(t.Context(), l.direct, []string{l.key}, long, nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.on("obtain", func(n int) {
		if n == 2 {
			_ = other.Release(context.Background())
			l.relay.CutReplies()
		}
	})
	// The wait after the second request is the one in which ctx ends.
	asked := 0
	opt := &redislock.Options{RetryStrategy: func() backoff.BackOff {
		return nextBackOff(func() time.Duration {
			if asked++; asked == 2 {
				cancel()
			}
			return 10 * time.Millisecond
		})
	}}
	_, err := l.client.Obtain(ctx, []string{l.key}, long, opt)
	wantIs(t, err, context.Canceled)
	unknownOutcome(t, err)
	l.freed(t)
}

// nextBackOff is a backoff.BackOff with nothing to reset.
type nextBackOff func() time.Duration

func (n nextBackOff) NextBackOff() time.Duration { return n() }
func (n nextBackOff) Reset()                     {}

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
			l := newLossy(t, func(*redis.Options) {})
			var released atomic.Bool
			l.relay.OnRequest(func(name string, args []string) {
				l.relay.DelayRequests(0)
				switch operationOf(name, args) {
				case "obtain":
					delay(l.relay, ttl+50*time.Millisecond)
				case "release":
					released.Store(true)
				}
			})
			lock, err := l.client.Obtain(t.Context(), []string{l.key}, ttl, nil)
			delay(l.relay, 0)
			wantIs(t, err, redislock.ErrNotObtained)
			if lock != nil {
				t.Error("got a lock whose time was over")
			}
			eventually(t, soon, "the key is released, not left to expire", released.Load)
			l.freed(t)
		})
	}
}
