package rows

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// A stage is what a row is measured on: servers of its own, under a load that is watched.
type stage struct {
	plan    measure.Plan
	servers []*measure.Server
	watch   *measure.Watch
	loads   []measure.Load // of the parts so far
	lasted  []time.Duration
	began   time.Time
	results []measure.Result // of the row so far, for their pace
	undo    []func()
}

// start starts more servers.
func (s *stage) start(n int) ([]*measure.Server, error) {
	if s.watch == nil {
		s.watch, s.began = measure.StartWatch(func() []*measure.Server { return s.servers }), time.Now()
	}
	var started []*measure.Server
	for range n {
		server, err := measure.StartServer()
		if err != nil {
			return nil, err
		}
		s.servers = append(s.servers, server)
		started = append(started, server)
	}
	return started, nil
}

// interleave measures sides.
func (s *stage) interleave(ctx context.Context, plan measure.Plan, sides []measure.Side) ([]measure.Result, error) {
	results, err := measure.Interleave(ctx, plan, sides)
	s.results = append(s.results, results...)
	return results, err
}

// finally has something done when the servers are no longer needed, the last one first.
func (s *stage) finally(do func()) { s.undo = append(s.undo, do) }

// rest ends a part of the row: its servers, and the watch on the load.
func (s *stage) rest(ctx context.Context) error {
	if s.watch == nil {
		return nil
	}
	load, err := s.watch.End(ctx)
	if err != nil {
		return err
	}
	s.loads, s.lasted = append(s.loads, load), append(s.lasted, time.Since(s.began))
	s.watch = nil
	s.clear()
	return nil
}

func (s *stage) clear() {
	for i := range s.undo {
		s.undo[len(s.undo)-1-i]()
	}
	for _, server := range s.servers {
		server.Stop()
	}
	s.undo, s.servers = nil, nil
}

// load is that of all parts, by how long they lasted.
func (s *stage) load() measure.Load {
	var all measure.Load
	var total time.Duration
	for _, d := range s.lasted {
		total += d
	}
	for i, l := range s.loads {
		share := float64(s.lasted[i]) / float64(total)
		all.Known = l.Known
		all.Others += share * l.Others
		all.Steal += share * l.Steal
	}
	if len(s.results) > 0 {
		all.Slow = measure.Slowness(s.results)
	}
	return all
}
