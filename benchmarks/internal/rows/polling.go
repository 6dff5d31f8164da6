package rows

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock/benchmarks/internal/measure"
	"github.com/seed-14de3678/redislock/benchmarks/internal/peers"
)

// polling has many callers want one key.
func polling(ctx context.Context, s *stage) (*report, error) {
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	all, err := peers.All(servers[0])
	if err != nil {
		return nil, err
	}
	all = append(all, peers.InLine(servers[0]))
	var sides []measure.Side
	numbers := []int{8, 64}
	for _, p := range all {
		s.finally(p.Close)
		for _, n := range numbers {
			key := fmt.Sprintf("polling:%s:%d", p.Name, n)
			sides = append(sides, measure.Side{
				Name: p.Name, At: n, Servers: servers,
				Block: together(n, func(ctx context.Context) error { return p.Cycle(ctx, key) }),
			})
		}
	}
	results, err := measure.Interleave(ctx, s.plan, sides)
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.PerSecond, measure.PerCPU, measure.ServerCPU, measure.ClientCPU, measure.Commands)
	for _, n := range numbers {
		ours, bsm := resultOf(results, peers.NameOurs, n), resultOf(results, peers.NameBSM, n)
		r.atLeast(1, measure.Times, measure.OnWall, measure.Ratio(ours, bsm, measure.PerSecond),
			fmt.Sprintf("acquisitions a second, %d callers, by those of %s", n, bsm.Name))
		r.atLeast(1, measure.Times, measure.OnCPU, measure.Ratio(ours, bsm, measure.PerCPU),
			fmt.Sprintf("acquisitions a second of CPU, %d callers, by those of %s", n, bsm.Name))
	}
	return r, nil
}

// together is a block in which n callers do the same again and again.
func together(n int, work func(context.Context) error) func(context.Context, time.Duration) (int, error) {
	return func(ctx context.Context, length time.Duration) (int, error) {
		ctx = context.WithoutCancel(ctx)
		var all sync.WaitGroup
		var done atomic.Int64
		failed := make(chan error, n)
		end := time.Now().Add(length)
		for range n {
			all.Go(func() {
				for time.Now().Before(end) {
					if err := work(ctx); err != nil {
						failed <- err
						return
					}
					done.Add(1)
				}
			})
		}
		all.Wait()
		select {
		case err := <-failed:
			return 0, err
		default:
			return int(done.Load()), nil
		}
	}
}
