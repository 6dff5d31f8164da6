package tune

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// url is what the processes of the load are told.
func (t *tune) url(conn *cli.Conn) string {
	if one, ok := conn.RDB.(*redis.Client); ok && conn.IsMini {
		return "redis://" + one.Options().Addr
	}
	if url := t.redis.Given(); url != "" {
		return url
	}
	return cli.DefaultRedis
}

// compete has the policies play, slice by slice, in each round in another order.
func (t *tune) compete(ctx context.Context, srv *server, screen *cli.Screen) ([]result, error) {
	s := setup{
		URL: t.url(srv.Conn), Prefix: srv.Prefix, Pattern: t.pattern, Mark: srv.mark, Load: t.load, TTL: t.ttl(),
	}
	results := make([]result, len(t.policies))
	for i, p := range t.policies {
		s.Policies = append(s.Policies, p.Spec)
		results[i].policy = p
	}
	playing, end := context.WithCancel(ctx)
	all, err := startPlayers(playing, s)
	defer all.wait()
	defer end()
	if err != nil {
		return nil, err
	}
	ends := time.Now().Add(t.plan.total(len(t.policies)))
	for round := range t.plan.Rounds + 1 {
		for _, i := range rand.Perm(len(t.policies)) {
			o := order{Policy: i, Round: round, Lead: t.plan.lead(), Length: t.plan.Slice}
			if round == 0 { // it connects and loads scripts, and does not count
				o.Lead, o.Length = 0, min(o.Length/4, leastSlice)
				ends = ends.Add(o.Length)
			}
			progress := t.tell(screen, o, ends)
			seen, err := srv.play(ctx, all, o)
			progress()
			if err != nil {
				return nil, err
			}
			if round > 0 {
				results[i].add(seen)
			}
		}
	}
	return results, nil
}

// play plays a slice when the one before it has left nothing behind.
func (s *server) play(ctx context.Context, all players, o order) (seen part, err error) {
	if err := s.settle(ctx); err != nil {
		return part{}, err
	}
	window := make(chan time.Duration, 1)
	watching, stop := context.WithCancel(ctx)
	go func() { window <- s.watch(watching, o) }()
	if seen, err = all.play(ctx, o); err != nil {
		stop()
	}
	seen.serverCPU = <-window
	stop()
	return seen, err
}

// watch says what the server uses in a slice, without its lead.
func (s *server) watch(ctx context.Context, o order) time.Duration {
	pace.Sleep(ctx, o.Lead)
	before := s.used(ctx)
	pace.Sleep(ctx, o.Length-o.Lead)
	return s.used(ctx).cpu - before.cpu
}

// tell shows how far it is, until the function is called that it returns.
func (t *tune) tell(screen *cli.Screen, o order, ends time.Time) (done func()) {
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for goesOn := true; goesOn; goesOn = pace.Sleep(ctx, time.Second) {
			screen.Tell("round %d of %d, %s, %s left", o.Round, t.plan.Rounds, t.policies[o.Policy].Name, cli.Duration(max(0, time.Until(ends))))
		}
	}()
	return func() { stop(); <-stopped }
}
