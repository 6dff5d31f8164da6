package rows

import (
	"context"
	"fmt"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/peers"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// refused asks for what somebody else holds.
func refused(ctx context.Context, s *stage) (*report, error) {
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	all, err := peers.All(servers[0])
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		s.finally(p.Close)
	}
	const byWriter, byReader = "lock:written", "lock:read"
	if err := hold(ctx, s, servers[0], byWriter, byReader); err != nil {
		return nil, err
	}
	var sides []measure.Side
	add := func(name string, p peers.Peer, key string) {
		sides = append(sides, measure.Side{
			Name: name, Servers: servers,
			Block: measure.Repeat(func(ctx context.Context) error {
				if refused, err := p.Try(ctx, key); !refused {
					return fmt.Errorf("%s is not refused: %w", key, err)
				}
				return nil
			}),
		})
	}
	ours := all[0]
	add(ours.Name, ours, byWriter)
	add(ours.Name+", by a reader", ours, byReader)
	for _, p := range all[1:] {
		if p.Try != nil {
			add(p.Name, p, byWriter)
		}
	}
	results, err := s.interleave(ctx, s.plan, sides)
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.Commands, measure.Time, measure.ServerCPU, measure.ClientCPU, measure.Allocs, measure.Network)
	r.atMost(3, counted("server commands where a writer holds the key", 0), results[0].Spread(measure.Commands))
	r.atMost(4, counted("server commands where a reader holds the key", 0), results[1].Spread(measure.Commands))
	return r, nil
}

// hold locks a key for writing and one for reading.
func hold(ctx context.Context, s *stage, server *measure.Server, written, read string) error {
	client := redislock.New(server.Client())
	s.finally(client.Close)
	opt := &redislock.Options{Metadata: redislock.InstanceMetadata()}
	if _, err := client.Obtain(ctx, []string{written}, ttl, opt); err != nil {
		return err
	}
	_, err := client.ObtainRead(ctx, []string{read}, ttl, opt)
	return err
}
