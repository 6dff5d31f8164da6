package api_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An operation is done by the user, after what goes before it was done with every command allowed.
type operation struct {
	name    string
	prepare func(ctx context.Context, p *pass) error
	do      func(ctx context.Context, p *pass) error
	refused bool                                     // it is to end with ErrNotObtained
	after   func(p *pass, ctx context.Context) error // if all is allowed: checks what it has led to; may be nil
}

// A pass is one operation on keys of its own.
type pass struct {
	client *redislock.Client
	rdb    *redis.Client // of the user
	admin  *redis.Client
	prefix string
	lock   *redislock.Lock
	lease  time.Duration // of a lock that is watched

	cleanup func(func())   // does something when the test is over
	granted []<-chan error // to those who wait
}

// passes counts the passes of all tests.
var passes atomic.Int64

// newPass prepares a pass. Its keys and its token are used by no other one, also of another test and on another
// server: whoever has the token in this process is one owner, and closes what another one of it has left open.
func newPass(g *world.Guarded, client *redislock.Client, name string) *pass {
	return &pass{client: client, rdb: g.RDB, admin: g.Admin, prefix: fmt.Sprintf("app:%d:%s:", passes.Add(1), name)}
}

func (p *pass) keys(names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = p.prefix + name
	}
	return keys
}

// mixed obtains the lock of the pass.
func (p *pass) mixed(write, read []string) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		opt := &redislock.Options{Metadata: "pass"}
		p.lock, err = p.client.As(p.prefix+"token").ObtainSet(ctx, redislock.Set{Write: p.keys(write...), Read: p.keys(read...)}, world.Long, opt)
		return err
	}
}

// other has another owner read or write "a".
func (p *pass) other(ctx context.Context, read bool) error {
	client := redislock.New(p.admin)
	obtain := client.Obtain
	if read {
		obtain = client.ObtainRead
	}
	_, err := obtain(ctx, p.keys("a"), world.Long, nil)
	return err
}

// lined calls seen when somebody stands in line for "a".
func (p *pass) lined(ctx context.Context, seen func()) {
	for ; ctx.Err() == nil; time.Sleep(check.Look) {
		if p.admin.Exists(ctx, slot.Beside("line", p.prefix+"a")).Val() > 0 {
			seen()
		}
	}
}

// putGuard puts a guard of somebody else into a line.
func putGuard(ctx context.Context, admin *redis.Client, line string) error {
	score := float64(int64(1)<<52 + time.Now().Add(world.Long).Unix()<<20 + 1)
	return errors.Join(admin.ZAdd(ctx, line, redis.Z{Score: score, Member: "other"}).Err(), admin.Expire(ctx, line, world.Long).Err())
}

// renewed holds the keys until their lease has been renewed.
func (p *pass) renewed(ctx context.Context, keys []string) error {
	lock, err := p.client.Obtain(ctx, keys, p.lease, world.Watched)
	if err != nil {
		return err
	}
	for first := lock.Deadline(); lock.Deadline().Equal(first); {
		select {
		case <-lock.Lost():
			return fmt.Errorf("%q: %w", keys, redislock.ErrLockLost)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return lock.Release(ctx)
}

func holding(write, read []string) func(context.Context, *pass) error {
	return func(ctx context.Context, p *pass) error { return p.mixed(write, read)(ctx) }
}

// obtains are the operations that may leave keys behind.
func obtains() []operation {
	a, bc := []string{"a"}, []string{"b", "c"}
	return []operation{
		{name: "obtain", do: holding(a, nil)},
		{name: "obtain set", do: holding(bc, nil)},
		{name: "read", do: holding(nil, bc)},
		{name: "mixed", do: holding(a, bc)},
		{name: "override", prepare: holding(a, nil), do: holding([]string{"a", "b"}, nil)},
		{name: "override to read", prepare: holding(a, bc), do: holding(bc, a)},
		{
			name:    "join",
			prepare: func(ctx context.Context, p *pass) error { return p.other(ctx, true) },
			do:      holding(nil, a),
		},
		{
			name: "intent", refused: true,
			prepare: func(ctx context.Context, p *pass) error { return p.other(ctx, true) },
			do: func(ctx context.Context, p *pass) error {
				_, err := p.client.Obtain(ctx, p.keys("a", "b"), world.Long, &redislock.Options{
					Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1),
				})
				return err
			},
		},
		{
			name: "queue", refused: true,
			prepare: func(ctx context.Context, p *pass) error { return p.other(ctx, false) },
			do: func(ctx context.Context, p *pass) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				go p.lined(ctx, func() { time.AfterFunc(250*time.Millisecond, cancel) }) // when it has been answered
				_, err := p.client.Obtain(ctx, p.keys("a", "b"), world.Long, &redislock.Options{Queue: true})
				if errors.Is(err, redislock.ErrUnknownOutcome) && ctx.Err() != nil { // its last answer was late
					return redislock.ErrNotObtained
				}
				return err
			},
		},
		{
			name: "queue where others have guards", refused: true,
			prepare: func(ctx context.Context, p *pass) error {
				if err := p.other(ctx, false); err != nil {
					return err
				}
				return putGuard(ctx, p.admin, slot.Beside("line", p.prefix+"a"))
			},
			do: func(ctx context.Context, p *pass) error {
				ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				_, err := p.client.Obtain(ctx, p.keys("a"), world.Long, &redislock.Options{Queue: true})
				if errors.Is(err, redislock.ErrUnknownOutcome) && ctx.Err() != nil { // its last answer was late
					return redislock.ErrNotObtained
				}
				return err
			},
		},
		{
			name: "fenced",
			do: func(ctx context.Context, p *pass) error {
				lock, err := p.client.Obtain(ctx, p.keys("a", "b"), world.Long, &redislock.Options{Fenced: true})
				if err != nil {
					return err
				}
				return errors.Join(lock.RaiseFence(ctx, lock.Fence()+1), lock.Release(ctx))
			},
		},
		{
			name: "replicas", refused: true, // there are none
			do: func(ctx context.Context, p *pass) error {
				_, err := redislock.New(p.rdb, redislock.WithReplicas(1)).Obtain(ctx, p.keys("a"), 40*time.Millisecond, nil)
				return err
			},
		},
		{
			name: "uptime",
			do: func(ctx context.Context, p *pass) error {
				const uptime = 2 * time.Second // a lease cannot be longer
				_, err := redislock.New(p.rdb, redislock.WithMinUptime(uptime)).Obtain(ctx, p.keys("a"), uptime, &redislock.Options{
					RetryStrategy: redislock.LinearBackoff(time.Second),
				})
				return err
			},
		},
		{
			name: "fenced after many", prepare: deadNumbers, after: (*pass).numbersForgotten,
			do: func(ctx context.Context, p *pass) error {
				_, err := p.client.ObtainRead(ctx, p.keys("a"), world.Long, &redislock.Options{Fenced: true})
				return err
			},
		},
		{
			name: "watchdog",
			do:   func(ctx context.Context, p *pass) error { return p.renewed(ctx, p.keys("a", "b")) },
		},
	}
}

// others are the operations on a lock that is held.
func others() []operation {
	a, bc := []string{"a"}, []string{"b", "c"}
	lock := map[string]func(context.Context, *redislock.Lock) error{
		"refresh":   func(ctx context.Context, l *redislock.Lock) error { return l.Refresh(ctx, world.Long) },
		"ttl":       func(ctx context.Context, l *redislock.Lock) error { _, err := l.TTL(ctx); return err },
		"downgrade": func(ctx context.Context, l *redislock.Lock) error { return l.Downgrade(ctx) },
		"upgrade":   func(ctx context.Context, l *redislock.Lock) error { return l.Upgrade(ctx) },
		"release":   func(ctx context.Context, l *redislock.Lock) error { return l.Release(ctx) },
	}
	var all []operation
	for name, do := range lock {
		do := func(ctx context.Context, p *pass) error { return do(ctx, p.lock) }
		all = append(all,
			operation{name: name + " one", prepare: holding(a, nil), do: do},
			operation{name: name + " set", prepare: holding(bc, nil), do: do},
			operation{name: name + " read", prepare: holding(nil, bc), do: do},
			operation{name: name + " mixed", prepare: holding(a, bc), do: do})
	}
	inspect := func(ctx context.Context, p *pass) error {
		_, err := p.client.Inspect(ctx, p.keys("a", "b"))
		return err
	}
	breaks := func(ctx context.Context, p *pass) error {
		_, err := p.client.Break(ctx, p.keys("a", "b", "c", "free"), "")
		return err
	}
	return append(all,
		operation{name: "inspect", prepare: holding(a, bc), do: inspect},
		operation{name: "break", prepare: holding(a, bc), do: breaks})
}
