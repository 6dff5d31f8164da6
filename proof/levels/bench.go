package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/proof/levels/course"
)

// A bench has the versions side by side.
type bench struct {
	dir       string // of what was built
	processor string
	sides     []*side // on that processor
	free      []*side // the same on all processors; nil: they were not needed yet
}

// open builds versions and starts them.
func open(ctx context.Context, root string, versions ...version) (_ *bench, err error) {
	if root, err = absolute(root); err != nil {
		return nil, err
	}
	b := &bench{processor: processor()}
	if b.dir, err = os.MkdirTemp("", "levels"); err != nil {
		return nil, err
	}
	for _, v := range versions {
		program, err := v.build(ctx, root, b.dir)
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		s, err := start(ctx, v, program, b.processor)
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		b.sides = append(b.sides, s)
	}
	return b, nil
}

// close ends all that was started, and removes all that was built.
func (b *bench) close() (err error) {
	for _, s := range slices.Concat(b.sides, b.free) {
		err = errors.Join(err, s.stop())
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// at are the sides that work at a place.
func (b *bench) at(ctx context.Context, place course.Place) ([]*side, error) {
	if place != course.Many {
		return b.sides, nil
	}
	for _, bound := range b.sides[len(b.free):] {
		s, err := start(ctx, bound.version, bound.program, "")
		if err != nil {
			return nil, err
		}
		b.free = append(b.free, s)
	}
	return b.free, nil
}

const (
	// longest is for how long new rounds begin on a slow machine, if there are enough of them.
	longest = 140 * time.Second
	// enough rounds have ten blocks of what has one in every other round, of which the quietest four count.
	enough = 5*fewest - 1
)

// measure does n rounds of kinds, given by their indexes, each round in another order. A first, short one is not counted: it
// connects and loads scripts. It stops sooner if it takes too long.
func (b *bench) measure(ctx context.Context, kinds []int, n int) ([]result, error) {
	results := make([]result, len(kinds))
	for i, kind := range kinds {
		results[i] = result{course.Kinds[kind], map[string][]course.Usage{}}
	}
	began := time.Now()
	for round := range n + 1 {
		if round > enough && time.Since(began) > longest {
			break
		}
		for i, kind := range kinds {
			ops := course.Kinds[kind].Ops
			switch {
			case round == 0:
				ops = 2 * course.Kinds[kind].Callers
			case course.Kinds[kind].Seldom && round%2 == 0:
				continue
			}
			sides, err := b.at(ctx, course.Kinds[kind].Place)
			if err != nil {
				return nil, err
			}
			if round%2 == 1 {
				sides = slices.Clone(sides)
				slices.Reverse(sides)
			}
			for _, s := range sides {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				usage, err := s.block(kind, ops)
				if err != nil {
					return nil, err
				}
				if round > 0 {
					results[i].blocks[s.version.name] = append(results[i].blocks[s.version.name], usage)
				}
			}
		}
	}
	return results, nil
}

// serverVersion is that of the servers.
func (b *bench) serverVersion(ctx context.Context) (string, error) {
	asks := redis.NewClient(&redis.Options{Addr: b.sides[0].server.Addr()})
	defer func() { _ = asks.Close() }()
	sections, err := asks.InfoMap(ctx, "server").Result()
	return sections["Server"]["redis_version"], err
}
