package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/proof/levels/course"
	"github.com/seed-14de3678/redislock/proof/levels/memory"
)

const (
	ttl = time.Minute
	// watchedTTL is that of locks that are watched. They are renewed at each third of it, which is longer than it takes to obtain
	// all of them: so no renewal begins before they are counted.
	watchedTTL = 900 * time.Millisecond
	// renewedTimes is how often each of them is renewed. The first time costs more than the others: the memory is cold then.
	renewedTimes = 4
	// atOnce is how many callers obtain and release the locks that are watched.
	atOnce = 32
	// details are what a holder is known by.
	details = "host=web-3 pid=812"
)

//go:embed least.lua
var leastLua string

var least = redis.NewScript(leastLua)

// A way says how a set is to be obtained.
type way struct {
	queue, fenced, reads, watched bool
	metadata                      string
}

// A stage is where blocks are done.
type stage struct {
	rdb    *redis.Client
	locks  locks
	peer   *bsm.Client
	memory *memory.Server // instead of the server; nil: none
}

// overNetwork is a stage whose server is another process.
func overNetwork(rdb *redis.Client) stage {
	return stage{rdb: rdb, locks: newLocks(rdb), peer: bsm.New(rdb)}
}

// block does the operations of a kind that are ordered, and counts what they use. What comes before and after them is not counted.
func (s stage) block(ctx context.Context, m meter, kind course.Kind, order course.Order) (usage course.Usage, err error) {
	if s.memory != nil {
		m.asks = nil
		if err := s.hear(ctx, kind); err != nil {
			return course.Usage{}, fmt.Errorf("before %s: %w", kind.Name, err)
		}
	}
	do, after, err := s.prepare(ctx, kind, order.Ops)
	if err != nil {
		return course.Usage{}, fmt.Errorf("before %s: %w", kind.Name, err)
	}
	if order.Profile != "" {
		do = profiled(order.Profile, do)
	}
	usage, err = m.count(ctx, do)
	if err != nil {
		err = fmt.Errorf("%s: %w", kind.Name, err)
	}
	return usage, errors.Join(err, after())
}

// prepare returns what does so many operations, and what tidies up behind them.
func (s stage) prepare(ctx context.Context, kind course.Kind, ops int) (do func() (int, error), after func() error, err error) {
	sets := setsOf(kind)
	set := sets[0]
	switch kind.Act {
	case course.Renew:
		return s.renew(ctx, set[0], ops)
	case course.Refused, course.Least, course.Refresh:
		held, err := s.locks.obtain(ctx, set, ttl, way{metadata: details})
		if err != nil {
			return nil, nil, err
		}
		do = func() (int, error) { return ops, repeat(ops, func() error { return s.again(ctx, kind, set, held) }) }
		return do, func() error { return held.Release(ctx) }, nil
	default:
		do = func() (int, error) { return ops, s.crowd(ctx, kind, sets, ops) }
		return do, func() error { return nil }, nil
	}
}

// setsOf has the set of each caller of a kind. No two kinds share a key, and all keys of a kind have about as many bytes.
func setsOf(kind course.Kind) [][]string {
	i := slices.IndexFunc(course.Kinds, func(k course.Kind) bool { return k.Name == kind.Name })
	sets := make([][]string, kind.Callers)
	for who := range sets {
		for key := range kind.Keys {
			name := fmt.Sprintf("lock:order:%02d:%d", i, key)
			if kind.Each {
				name = fmt.Sprintf("%s:%03d", name, who)
			}
			sets[who] = append(sets[who], name)
		}
	}
	return sets
}

// repeat does one thing so many times.
func repeat(ops int, one func() error) error {
	for range ops {
		if err := one(); err != nil {
			return err
		}
	}
	return nil
}

// again does once what is done to a lock that is held.
func (s stage) again(ctx context.Context, kind course.Kind, set []string, held *lock) error {
	switch kind.Act {
	case course.Refused:
		got, err := s.locks.obtain(ctx, set, ttl, way{})
		if !isRefusal(err) {
			return fmt.Errorf("got %v, %w, want a refusal", got, err)
		}
		return nil
	case course.Least:
		reply, err := least.Run(ctx, s.rdb, set, "0123456789012345678901", ttl.Milliseconds()).Slice()
		if err != nil || len(reply) != 5 {
			return fmt.Errorf("got %v, %w, want a refusal", reply, err)
		}
		return nil
	default:
		return held.Refresh(ctx, ttl)
	}
}

// crowd lets the callers of a kind obtain and release their sets, together so many times.
func (s stage) crowd(ctx context.Context, kind course.Kind, sets [][]string, ops int) error {
	failed := make(chan error, kind.Callers)
	var all sync.WaitGroup
	for who := range kind.Callers {
		all.Go(func() {
			ctx := ctx
			if kind.Ends {
				inner, end := context.WithCancel(ctx)
				defer end()
				ctx = inner
			}
			w := way{queue: kind.Queue, fenced: kind.Fenced, reads: who*kind.Reads/kind.Callers != (who+1)*kind.Reads/kind.Callers}
			failed <- repeat(ops/kind.Callers, func() error { return s.turn(ctx, kind, sets[who], w) })
		})
	}
	all.Wait()
	close(failed)
	var err error
	for one := range failed {
		err = errors.Join(err, one)
	}
	return err
}

// turn obtains and releases a set.
func (s stage) turn(ctx context.Context, kind course.Kind, set []string, w way) error {
	switch kind.Act {
	case course.With:
		return s.locks.with(ctx, set, ttl, func(context.Context) error { return nil })
	case course.Raw:
		return rawTurn(ctx, s.rdb, set[0])
	case course.BSM:
		return bsmTurn(ctx, s.peer, set[0])
	}
	held, err := s.locks.obtain(ctx, set, ttl, w)
	if err != nil {
		return err
	}
	return held.Release(ctx)
}

// renew holds watched locks, and waits until they were renewed so often.
func (s stage) renew(ctx context.Context, name string, ops int) (do func() (int, error), after func() error, err error) {
	told := make(chan error, 10*ops)
	locks := newWatched(s.rdb, func(err error) { told <- err })
	held := make([]*lock, max(ops/renewedTimes, 1))
	err = each(len(held), func(i int) (err error) {
		held[i], err = locks.obtain(ctx, []string{fmt.Sprint(name, ":", i)}, watchedTTL, way{watched: true})
		return err
	})
	do = func() (int, error) {
		before := len(told)
		for range before + ops {
			if err := <-told; err != nil {
				return 0, err
			}
		}
		return ops, nil
	}
	after = func() error {
		defer locks.close()
		return each(len(held), func(i int) error { return held[i].Release(ctx) })
	}
	return do, after, err
}

// each does something n times, several at once.
func each(n int, one func(i int) error) error {
	failed := make([]error, atOnce)
	var all sync.WaitGroup
	for from := range atOnce {
		all.Go(func() {
			for i := from; i < n && failed[from] == nil; i += atOnce {
				failed[from] = one(i)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}
