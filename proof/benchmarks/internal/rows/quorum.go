package rows

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/peers"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
	"github.com/seed-14de3678/redislock/quorum"
)

const nodes = 5

// quorums are locked beside what cannot be done faster.
func quorums(ctx context.Context, s *stage) (*report, error) {
	servers, err := s.start(nodes)
	if err != nil {
		return nil, err
	}
	var clients []*redislock.Client
	for _, server := range servers {
		client := redislock.New(server.Client())
		s.finally(client.Close)
		clients = append(clients, client)
	}
	majority, err := quorum.New(clients)
	if err != nil {
		return nil, err
	}
	s.finally(majority.Close)
	bare := newFanOut(servers)
	s.finally(bare.end)
	other := peers.RedsyncAt(servers)

	const ours, fan, one = "redislock/quorum", "bare fan-out", "one server"
	works := []struct {
		name string
		do   func(context.Context) error
	}{
		{ours, func(ctx context.Context) error {
			lock, err := majority.Obtain(ctx, []string{"quorum:ours"}, ttl, nil)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}},
		{fan, bare.cycle},
		{other.Name, func(ctx context.Context) error { return other.Cycle(ctx, "quorum:redsync") }},
		{one, func(ctx context.Context) error { return cycle(ctx, clients[0], []string{"quorum:one"}, nil) }},
	}
	var sides []measure.Side
	for _, w := range works {
		sides = append(sides, measure.Side{Name: w.name, Servers: servers, Block: measure.Repeat(w.do)})
	}
	results, err := s.interleave(ctx, s.plan, sides)
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.Time, measure.ServerCPU, measure.ClientCPU, measure.Commands, measure.Allocs)
	for _, by := range []struct {
		metric measure.Metric
		basis  measure.Basis
	}{{measure.Time, measure.OnWall}, {measure.CPU, measure.OnCPU}} {
		r.atMost(1.1, subject{by.metric.Name + ", by that of the bare fan-out", 0, measure.Times, by.basis},
			measure.Ratio(results[0], results[1], by.metric))
	}
	return r, nil
}

// A fanOut is what one writes with go-redis alone for several servers: SET NX PX and a
// compare-and-delete, at all of them at once, on goroutines that run already.
type fanOut struct {
	asks []chan func(*redis.Client) error
	done chan error
}

func newFanOut(servers []*measure.Server) *fanOut {
	f := &fanOut{done: make(chan error, len(servers))}
	for _, server := range servers {
		rdb, ask := server.Client(), make(chan func(*redis.Client) error)
		f.asks = append(f.asks, ask)
		go func() {
			for do := range ask {
				f.done <- do(rdb)
			}
		}()
	}
	return f
}

func (f *fanOut) cycle(ctx context.Context) error {
	const key = "quorum:bare"
	token := token()
	return errors.Join(
		f.all(func(rdb *redis.Client) error {
			return rdb.SetArgs(ctx, key, token, redis.SetArgs{Mode: "NX", TTL: ttl}).Err()
		}),
		f.all(func(rdb *redis.Client) error {
			return peers.FreeScript.Run(ctx, rdb, []string{key}, token).Err()
		}),
	)
}

// all does something at all servers and waits for all of them.
func (f *fanOut) all(do func(*redis.Client) error) (err error) {
	for _, ask := range f.asks {
		ask <- do
	}
	for range f.asks {
		err = errors.Join(err, <-f.done)
	}
	return err
}

func (f *fanOut) end() {
	for _, ask := range f.asks {
		close(ask)
	}
}
