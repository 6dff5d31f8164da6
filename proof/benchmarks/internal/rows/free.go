package rows

import (
	"context"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// The sides of free sets.
const (
	written       = "write"
	read          = "read"
	writtenFenced = "fenced"
)

// free obtains and releases sets that nobody wants.
func free(ctx context.Context, s *stage) (*report, error) {
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	client := redislock.New(servers[0].Client())
	s.finally(client.Close)
	var sides []measure.Side
	sizes := []int{1, 4, 16, 64, 256}
	for _, k := range sizes {
		add := func(name string, obtain func(ctx context.Context, keys []string) (*redislock.Lock, error)) {
			keys := keysOf(name, k)
			sides = append(sides, measure.Side{
				Name: name, At: k, Servers: servers,
				Block: measure.Repeat(func(ctx context.Context) error {
					lock, err := obtain(ctx, keys)
					if err != nil {
						return err
					}
					return lock.Release(ctx)
				}),
			})
		}
		add(written, func(ctx context.Context, keys []string) (*redislock.Lock, error) {
			return client.Obtain(ctx, keys, ttl, nil)
		})
		add(read, func(ctx context.Context, keys []string) (*redislock.Lock, error) {
			return client.ObtainRead(ctx, keys, ttl, nil)
		})
		add(writtenFenced, func(ctx context.Context, keys []string) (*redislock.Lock, error) {
			return client.Obtain(ctx, keys, ttl, &redislock.Options{Fenced: true})
		})
	}
	results, err := s.interleave(ctx, s.plan, sides)
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.Commands, measure.ServerCPU, measure.Network)
	for _, claim := range []struct {
		name string
		aKey float64
	}{{read, 3}, {writtenFenced, 4}} {
		for _, k := range sizes[1:] {
			r.atMost(2.7, ratio("server CPU, by that of write: "+claim.name, k),
				measure.Ratio(resultOf(results, claim.name, k), resultOf(results, written, k), measure.ServerCPU))
		}
		r.atMost(claim.aKey, counted("server commands for each key more: "+claim.name, 256), aKeyMore(results, claim.name, 64, 256))
	}
	return r, nil
}

// aKeyMore is how many commands a key more costs, from few keys to many.
func aKeyMore(results []measure.Result, name string, few, many int) measure.Spread {
	commands := func(k int) float64 { return resultOf(results, name, k).Spread(measure.Commands).Median }
	return measure.Exactly((commands(many) - commands(few)) / float64(many-few))
}
