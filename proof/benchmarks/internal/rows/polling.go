package rows

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/peers"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
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
	numbers := []int{1, 8, 64}
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
	plan := s.plan
	plan.Length *= 2 // of many callers some are served much more often than others
	results, err := s.interleave(ctx, plan, sides)
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.PerSecond, measure.PerCPU, measure.ServerCPU, measure.ClientCPU, measure.Commands)
	for _, n := range numbers[1:] {
		ours, bsm := resultOf(results, peers.NameOurs, n), resultOf(results, peers.NameBSM, n)
		r.atLeast(1, subject{"acquisitions a second, by those of " + bsm.Name, n, measure.Times, measure.OnWall},
			measure.Ratio(ours, bsm, measure.PerSecond))
		r.atLeast(1, ratio("acquisitions a second of CPU, by those of "+bsm.Name, n), measure.Ratio(ours, bsm, measure.PerCPU))
	}
	return r, nil
}

// patience is how long callers may go on when their block is over.
const patience = 30 * time.Second

// together is a block in which n callers do the same again and again.
func together(n int, work func(context.Context) error) func(context.Context, time.Duration) (int, error) {
	return func(ctx context.Context, length time.Duration) (int, error) {
		var all sync.WaitGroup
		var done atomic.Int64
		ended := make(chan error, n+1)
		end := time.Now().Add(length)
		for range n {
			all.Go(func() {
				for time.Now().Before(end) {
					if err := work(context.WithoutCancel(ctx)); err != nil {
						ended <- err
						return
					}
					done.Add(1)
				}
			})
		}
		go func() {
			all.Wait()
			ended <- nil
		}()
		select {
		case err := <-ended:
			return int(done.Load()), err
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(length + patience):
			return 0, fmt.Errorf("not all of %d callers have got the key %s after the end", n, patience)
		}
	}
}
