package measure

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/turns"
)

// A Player is the workers of one process.
type Player struct {
	Load
	Had  atomic.Int64 // how many locks they have had so far
	sent atomic.Int64 // commands
}

// NewPlayer counts what rdb sends from now on, which is to be nothing but what Play has it send.
func NewPlayer(rdb interface{ AddHook(redis.Hook) }, l Load) *Player {
	p := &Player{Load: l}
	rdb.AddHook(cli.Around(func(_ context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		for _, cmd := range cmds {
			if name := cmd.Name(); name == "evalsha" || name == "eval" {
				p.sent.Add(1)
			}
		}
		return send(cmds)
	}))
	return p
}

// A Slice is some time in which one policy plays.
type Slice struct {
	Round  int           // workers make the same choices in every slice of a round
	Lead   time.Duration // at its beginning, in which only waits count
	Length time.Duration // of all of it
}

// Play plays a slice by a Client with these options, and says what was seen. No worker holds a lock when it
// returns; an Obtain that was cut short may still be leaving.
func (p *Player) Play(ctx context.Context, client *redislock.Client, opt *redislock.Options, s Slice) (seen Part, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	up, stop := context.WithTimeout(ctx, s.Length)
	defer stop()
	workers := make([]turns.Caller, p.Workers)
	var all sync.WaitGroup
	all.Go(func() { seen.Late, seen.Watched = lateness(up, pace.Sleep) })
	for i := range workers {
		workers[i].Refusal = redislock.ErrNotObtained
		all.Go(func() {
			if err := p.work(up, &workers[i], newDraw(s.Round, p.First+i), client, opt); err != nil {
				fail(err)
			}
		})
	}
	pace.Sleep(up, s.Lead)
	sent, began := p.sent.Load(), time.Now()
	for i := range workers {
		seen.Waits.Join(workers[i].Read().Waits)
	}
	<-up.Done()
	seen.Commands, seen.Length = p.sent.Load()-sent, time.Since(began)
	all.Wait() // nobody changes what a worker has seen any more
	for i := range workers {
		seen.Enter(workers[i].Read())
	}
	return seen, context.Cause(ctx)
}

// work has a worker obtain, hold, release and pause in turn, until time is up.
func (p *Player) work(up context.Context, worker *turns.Caller, d *rand.Rand, client *redislock.Client, opt *redislock.Options) error {
	for up.Err() == nil {
		keys, hold := drawKeys(d, p.Names, p.Keys), p.Holds[d.IntN(len(p.Holds))]
		way := client.Obtain
		if d.Float64() < p.Readers {
			way = client.ObtainRead
		}
		obtain := func(ctx context.Context) (*redislock.Lock, error) { return way(ctx, keys, p.TTL, opt) }
		err := turns.Try(up, worker, obtain, func(lock *redislock.Lock) error {
			p.Had.Add(1)
			pace.Sleep(up, hold)
			return release(lock)
		})
		if err != nil {
			return err
		}
		if p.Think > 0 {
			pace.Sleep(up, p.Think)
		}
	}
	return nil
}

// releasing is how long a server may take that does not answer.
const releasing = 5 * time.Second

// release gives a lock back, also when time is up. One that somebody has broken is free all the same.
func release(lock *redislock.Lock) error {
	ctx, cancel := context.WithTimeout(context.Background(), releasing)
	defer cancel()
	if err := lock.Release(ctx); !errors.Is(err, redislock.ErrLockNotHeld) {
		return err
	}
	return nil
}
