package api_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// waits has somebody who may do everything stand in line, with a Client of its own.
func (p *pass) waits(ctx context.Context, write, read []string, opt redislock.Options) error {
	client := redislock.New(p.admin)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	p.cleanup(func() {
		cancel()
		<-ended
		client.Close()
	})
	line := slot.Beside("line", append(p.keys(write...), p.keys(read...)...)[0])
	before := p.admin.ZCard(ctx, line).Val()
	opt.Queue = true
	granted := make(chan error, 1)
	p.granted = append(p.granted, granted)
	go func() {
		defer close(ended)
		lock, err := client.ObtainSet(ctx, redislock.Set{Write: p.keys(write...), Read: p.keys(read...)}, world.Long, &opt)
		if err == nil {
			err = lock.Release(ctx)
		}
		granted <- err
	}()
	for end := time.Now().Add(world.Polled); p.admin.ZCard(ctx, line).Val() == before; time.Sleep(check.Look) {
		if time.Now().After(end) {
			return errors.New("nobody stands in line")
		}
	}
	return nil
}

// served waits until everybody has had a turn.
func (p *pass) served(context.Context) error {
	for _, granted := range p.granted {
		err, ok := check.Receive(granted, world.Soon/2) // before it asks again
		if !ok {
			err = errors.New("nobody has handed the lock over")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func release(ctx context.Context, p *pass) error { return p.lock.Release(ctx) }

// all does one after the other, until one fails.
func all(steps ...func(context.Context, *pass) error) func(context.Context, *pass) error {
	return func(ctx context.Context, p *pass) error {
		for _, step := range steps {
			if err := step(ctx, p); err != nil {
				return err
			}
		}
		return nil
	}
}

func waiting(write, read []string, opt redislock.Options) func(context.Context, *pass) error {
	return func(ctx context.Context, p *pass) error { return p.waits(ctx, write, read, opt) }
}

func guarded(name string) func(context.Context, *pass) error {
	return func(ctx context.Context, p *pass) error {
		return putGuard(ctx, p.admin, slot.Beside("line", p.prefix+name))
	}
}

// dead puts the entry of a waiter that has died into the line of "a".
func dead(ctx context.Context, p *pass) error {
	line := slot.Beside("line", p.prefix+"a")
	return errors.Join(
		p.admin.ZAdd(ctx, line, redis.Z{Score: 1, Member: "dead|1|wp--|60000|1|1|0|ct"}).Err(),
		p.admin.Expire(ctx, line, world.Long).Err())
}

// holdingFenced obtains a lock with a number.
func holdingFenced(write ...string) func(context.Context, *pass) error {
	return func(ctx context.Context, p *pass) (err error) {
		p.lock, err = p.client.Obtain(ctx, p.keys(write...), world.Long, &redislock.Options{Fenced: true})
		return err
	}
}

// handing are the releases of what others wait for, or use as well.
func handing() []operation {
	a, bc := []string{"a"}, []string{"b", "c"}
	plain, fenced := redislock.Options{}, redislock.Options{Fenced: true}
	var ops []operation
	for name, prepare := range map[string]func(context.Context, *pass) error{
		"one key":                   all(holding(a, nil), waiting(a, nil, plain), waiting(a, nil, plain)),
		"one key to readers":        all(holding(a, nil), waiting(nil, a, plain), waiting(nil, a, plain)),
		"one key of readers":        all(holding(nil, a), waiting(a, nil, plain)),
		"one key beside a guard":    all(holding(a, nil), guarded("a")),
		"one key behind a dead":     all(holding(a, nil), waiting(a, nil, plain), dead),
		"one key to one of a set":   all(holding(a, nil), waiting([]string{"a", "b"}, nil, plain)),
		"one key with a number":     all(holdingFenced("a"), waiting(a, nil, fenced), waiting(nil, a, fenced)),
		"a set":                     all(holding(bc, nil), waiting(bc, nil, plain), waiting(bc, nil, plain)),
		"a set beside a guard":      all(holding(bc, nil), guarded("c"), waiting(bc, nil, plain)),
		"a set with numbers":        all(holdingFenced("b", "c"), waiting(bc, nil, fenced), waiting(bc, nil, fenced)),
		"a set to some who overlap": all(holding(bc, nil), waiting([]string{"c", "d"}, nil, plain), waiting(bc, nil, plain)),
		"a set whose lines differ":  all(holding(bc, nil), waiting([]string{"c"}, nil, plain), waiting(bc, nil, plain)),
		"one of two leases of a reader": func(ctx context.Context, p *pass) error {
			return errors.Join(holding(nil, a)(ctx, p), p.other(ctx, true))
		},
	} {
		ops = append(ops, operation{name: "release " + name, prepare: prepare, do: release, after: (*pass).served})
	}
	return ops
}

// deadNumbers leaves numbers of readers that have died beside "a", which somebody reads. The last of them was given
// in another hour, so whoever is given the next looks through them.
func deadNumbers(ctx context.Context, p *pass) error {
	if err := p.other(ctx, true); err != nil {
		return err
	}
	fence := slot.Beside("fence", p.prefix+"a")
	fields := []any{"", time.Now().Add(-2 * time.Hour).UnixMicro()}
	for i := range 100 {
		fields = append(fields, fmt.Sprint("dead", i), i)
	}
	return errors.Join(p.admin.HSet(ctx, fence, fields...).Err(), p.admin.Expire(ctx, fence, world.Long).Err())
}

// numbersForgotten checks that they are gone.
func (p *pass) numbersForgotten(ctx context.Context) error {
	if n, err := p.admin.HLen(ctx, slot.Beside("fence", p.prefix+"a")).Result(); n > 10 || err != nil {
		return fmt.Errorf("%d numbers are left, %w", n, err)
	}
	return nil
}
