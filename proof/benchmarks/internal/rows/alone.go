package rows

import (
	"context"

	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/peers"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// alone locks a free key with each of the libraries.
func alone(ctx context.Context, s *stage) (*report, error) {
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	all, err := peers.All(servers[0])
	if err != nil {
		return nil, err
	}
	var sides []measure.Side
	for _, p := range all {
		s.finally(p.Close)
		sides = append(sides, measure.Side{
			Name: p.Name, Servers: servers,
			Block: measure.Repeat(func(ctx context.Context) error { return p.Cycle(ctx, "alone:"+p.Name) }),
		})
	}
	results, err := s.interleave(ctx, s.plan, sides)
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.Time, measure.ServerCPU, measure.ClientCPU, measure.Commands, measure.Allocs, measure.Network)
	return r, nil
}
