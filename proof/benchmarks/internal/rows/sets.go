package rows

import (
	"context"
	"fmt"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// The sides of sets that others wait for.
const (
	nobodyWaits = "free"
	sameSet     = "same set"
	fencedSet   = "fenced"
	overlapping = "overlapping"
	mixed       = "half read"
)

// A wish is what one of a crowd wants of k keys, and what a turn may cost: so many commands a key,
// and so many more.
type wish struct {
	name       string
	take       func(client *redislock.Client, keys []string) obtain
	aKey, more float64
}

var wishes = []wish{
	{sameSet, whole(redislock.Options{Queue: true}), 4, 10},
	{fencedSet, whole(redislock.Options{Queue: true, Fenced: true}), 6, 10},
	{overlapping, halfOwn, 7, 12},
	{mixed, halfRead, 7, 12},
}

func whole(opt redislock.Options) func(*redislock.Client, []string) obtain {
	return func(client *redislock.Client, keys []string) obtain {
		return func(ctx context.Context, _ int) (*redislock.Lock, error) { return client.Obtain(ctx, keys, ttl, &opt) }
	}
}

// halfOwn wants half of the keys as all do, and half of them as every second one does.
func halfOwn(client *redislock.Client, keys []string) obtain {
	var sets [2][]string
	for i := range sets {
		for j, key := range keys {
			if j >= len(keys)/2 {
				key += fmt.Sprint(":", i)
			}
			sets[i] = append(sets[i], key)
		}
	}
	return func(ctx context.Context, who int) (*redislock.Lock, error) {
		return client.Obtain(ctx, sets[who%2], ttl, &redislock.Options{Queue: true})
	}
}

func halfRead(client *redislock.Client, keys []string) obtain {
	half := len(keys) / 2
	return func(ctx context.Context, _ int) (*redislock.Lock, error) {
		return client.ObtainSet(ctx, redislock.Set{Write: keys[:half], Read: keys[half:]}, ttl, &redislock.Options{Queue: true})
	}
}

// sets are handed over among four.
func sets(ctx context.Context, s *stage) (*report, error) {
	r := &report{}
	for _, k := range []int{1, 4, 16, 64, 256} {
		results, err := setsOf(ctx, s, k)
		if err != nil {
			return nil, err
		}
		if err := s.rest(ctx); err != nil {
			return nil, err
		}
		r.add(results, measure.Commands, measure.ServerCPU, measure.Network)
		free := resultOf(results, nobodyWaits, k)
		for _, w := range wishes {
			result := resultOf(results, w.name, k)
			most := w.aKey*float64(k) + w.more
			if k == 1 {
				most = 12
			}
			if len(result.Blocks) > 0 && (k > 1 || w.name == sameSet) {
				most *= 1.01 // lines are given a new TTL once a second, which is little for each of many turns
				r.atMost(most, counted("server commands a turn: "+w.name, k), result.Spread(measure.Commands))
			}
		}
		same := resultOf(results, sameSet, k)
		if most, limited := map[int]float64{4: 3, 64: 5, 256: 5}[k]; limited {
			r.atMost(most, ratio("server CPU a turn, by that of a set that nobody waits for", k),
				measure.Ratio(same, free, measure.ServerCPU))
		}
		if k >= 64 {
			r.atMost(12, subject{"server CPU a turn, for each key", k, measure.Micros, measure.OnCPU},
				same.Spread(measure.ServerCPU).Over(float64(k)))
		}
	}
	return r, nil
}

// setsOf measures sets of k keys. Each side has a server of its own, because waiters ask again now
// and then while others are measured.
func setsOf(ctx context.Context, s *stage, k int) ([]measure.Result, error) {
	keys := keysOf("set", k)
	servers, err := s.start(1 + len(wishes))
	if err != nil {
		return nil, err
	}
	client := redislock.New(servers[0].Client())
	s.finally(client.Close)
	sides := []measure.Side{{
		Name: nobodyWaits, At: k, Servers: servers[:1],
		Block: measure.Repeat(func(ctx context.Context) error { return cycle(ctx, client, keys, nil) }),
	}}
	for i, w := range wishes {
		if k == 1 && w.name != sameSet && w.name != fencedSet {
			continue
		}
		server := servers[1+i]
		client := redislock.New(server.Client())
		s.finally(client.Close)
		crowd := gather(ctx, 4, w.take(client, keys))
		s.finally(crowd.part)
		sides = append(sides, measure.Side{Name: w.name, At: k, Servers: []*measure.Server{server}, Block: crowd.block})
	}
	return s.interleave(ctx, s.plan, sides)
}

// cycle obtains a set and releases it.
func cycle(ctx context.Context, client *redislock.Client, keys []string, opt *redislock.Options) error {
	lock, err := client.Obtain(ctx, keys, ttl, opt)
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}

// keysOf names n keys.
func keysOf(name string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("lock:%s:%d", name, i)
	}
	return keys
}
