package tune

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// url is what the processes of the load are told.
func (t *tune) url(conn *cli.Conn) string {
	if one, ok := conn.RDB.(*redis.Client); ok && conn.IsMini {
		return "redis://" + one.Options().Addr
	}
	return cmp.Or(t.redis.Given(), cli.DefaultRedis)
}

// A contest is what was seen of all policies.
type contest struct {
	results []result
	used    time.Duration // of the processors by the load
	took    time.Duration
}

// compete has the policies play, slice by slice, in each round in another order.
func (t *tune) compete(ctx context.Context, srv *server, screen *cli.Screen) (c contest, err error) {
	s := setup{URL: t.url(srv.Conn), Prefix: srv.Prefix, Mark: srv.mark, Wait: t.wait, Load: t.load}
	s.Load.Names = srv.names
	for _, one := range t.policies {
		s.Policies = append(s.Policies, one.Spec)
		c.results = append(c.results, result{policy: one})
	}
	began := time.Now()
	all, err := startPlayers(ctx, s, t.processes)
	defer func() { c.used, c.took = all.stop(), time.Since(began) }()
	if err != nil {
		return c, err
	}
	ends := time.Now().Add(t.plan.total(len(t.policies)))
	for round := range t.plan.Rounds + 1 {
		for _, i := range rand.Perm(len(t.policies)) {
			// All come at once in the beginning, which they do not do otherwise: so the lead does not count.
			o := order{i, measure.Slice{Round: round, Lead: t.plan.Slice / 3, Length: t.plan.Slice}}
			if round == 0 { // it connects and loads scripts, and does not count
				o.Lead, o.Length = 0, min(o.Length/4, leastSlice)
				ends = ends.Add(o.Length)
			}
			progress := t.tell(screen, o, ends)
			seen, err := srv.play(ctx, all, o)
			progress()
			if err != nil {
				return c, err
			}
			if round > 0 {
				c.results[i].add(seen)
			}
		}
	}
	return c, nil
}

// play plays a slice when the one before it has left nothing behind. What the server uses in the lead does not count.
func (s *server) play(ctx context.Context, all *players, o order) (seen measure.Part, err error) {
	if err := s.settle(ctx); err != nil {
		return seen, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	used := make(chan time.Duration, 1)
	go func() {
		pace.Sleep(watching, o.Lead)
		before := s.used(watching)
		pace.Sleep(watching, o.Length-o.Lead)
		used <- s.used(watching) - before
	}()
	if seen, err = all.ask(o.Length+patience, func(int) any { return o }); err != nil {
		stop()
	}
	seen.ServerCPU = <-used
	return seen, err
}

// tell shows how far it is, until the function is called that it returns.
func (t *tune) tell(screen *cli.Screen, o order, ends time.Time) (done func()) {
	ctx, stop := context.WithCancel(context.Background())
	var telling sync.WaitGroup
	telling.Go(func() {
		for goesOn := true; goesOn; goesOn = pace.Sleep(ctx, time.Second) {
			screen.Tell("round %d of %d, %s, %s left", o.Round, t.plan.Rounds, t.policies[o.Policy].Name, cli.Duration(max(0, time.Until(ends))))
		}
	})
	return func() {
		stop()
		telling.Wait()
	}
}
