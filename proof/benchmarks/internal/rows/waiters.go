package rows

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

const inLine = "in line"

// waiters stand in one line, on a server of its own for each length: while one line moves, the
// others ask again.
func waiters(ctx context.Context, s *stage) (*report, error) {
	lengths := []int{16, 128, 1024, 8192}
	servers, err := s.start(len(lengths))
	if err != nil {
		return nil, err
	}
	var sides []measure.Side
	for i, n := range lengths {
		server := servers[i]
		client := redislock.New(server.Client())
		s.finally(client.Close)
		crowd := gather(ctx, n+1, whole(redislock.Options{Queue: true})(client, []string{"lock:line"}))
		s.finally(crowd.part)
		if err := allWait(ctx, client, []string{"lock:line"}, n); err != nil {
			return nil, err
		}
		sides = append(sides, measure.Side{Name: inLine, At: n, Servers: []*measure.Server{server}, Block: crowd.block})
	}
	results, err := s.interleave(ctx, s.plan, sides)
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.ServerCPU, measure.Commands)
	few := resultOf(results, inLine, lengths[0])
	for _, n := range lengths[1:] {
		r.atMost(1.3, ratio("server CPU a turn, by that with 16 waiters", n),
			measure.Ratio(resultOf(results, inLine, n), few, measure.ServerCPU))
	}
	return r, nil
}

// allWait returns when so many stand in line for each of the keys.
func allWait(ctx context.Context, client *redislock.Client, keys []string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, key := range keys {
		for {
			states, err := client.Inspect(ctx, []string{key})
			if err != nil {
				return err
			}
			if len(states[0].Line) >= n {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}
