package watch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/tree"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// A sample is what was seen at one moment. There are two kinds: a look at keys that were chosen, and what the search for keys
// has found.
type sample struct {
	at     time.Time // when it was there
	server time.Time // the same moment by the clock of the server
	found  bool      // it is of the search
	passed bool      // the search has gone through all keys once more
	part   float64   // of all keys that the search has gone through this time
	states []redislock.KeyState
	// circles are the deadlocks among the keys of a look.
	circles []tree.Circle
	err     error // something could not be seen
}

// A sampler looks at the server. Its budget is shared: one half is for looks, the other for the search; without a search all of
// it is for looks.
type sampler struct {
	looks, search *meter // search may be nil
	client        *redislock.Client
	pattern       string
	to            chan sample
	asks          chan []string // keys to look at
	offset        atomic.Int64  // what the server's clock is ahead of ours, in nanoseconds
	paused        atomic.Bool   // the search stands still

	end context.CancelFunc
	all sync.WaitGroup
}

// betweenPasses is the time from the begin of one search to that of the next, at least.
const betweenPasses = 2 * time.Second

// newSampler connects to the server. Without a search only keys that are asked for are looked at.
func newSampler(ctx context.Context, server *cli.Redis, budget int, pattern string, search bool) (*sampler, error) {
	rate := float64(budget)
	if search {
		rate /= 2
	}
	looks, err := openMetered(ctx, server, rate)
	if err != nil {
		return nil, err
	}
	s := &sampler{
		looks: looks, client: looks.Client(), pattern: pattern, to: make(chan sample), asks: make(chan []string, 1), end: func() {},
	}
	if !search {
		return s, nil
	}
	if s.search, err = openMetered(ctx, server, rate); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// start begins to look and to search, until ctx ends or the sampler is closed.
func (s *sampler) start(ctx context.Context) {
	ctx, s.end = context.WithCancel(ctx)
	s.all.Go(func() {
		for {
			select {
			case keys := <-s.asks:
				s.send(ctx, s.look(ctx, keys))
			case <-ctx.Done():
				return
			}
		}
	})
	if s.search == nil {
		return
	}
	s.all.Go(func() {
		for ctx.Err() == nil {
			next := time.Now().Add(betweenPasses)
			s.searchOnce(ctx)
			s.wait(ctx, next)
		}
	})
}

// close waits until everything has ended, and closes the connections.
func (s *sampler) close() {
	s.end()
	s.all.Wait()
	s.client.Close()
	_ = s.looks.Close() // they were only read from
	if s.search != nil {
		_ = s.search.Close()
	}
}

func (s *sampler) send(ctx context.Context, one sample) {
	select {
	case s.to <- one:
	case <-ctx.Done():
	}
}

// ask begins a look, unless one is under way.
func (s *sampler) ask(keys []string) {
	select {
	case s.asks <- keys:
	default:
	}
}

// look looks at keys. Those of a part of the server that is away are left out.
func (s *sampler) look(ctx context.Context, keys []string) sample {
	ctx, cancel := context.WithTimeoutCause(ctx, cli.Reachable, errors.New("no answer within "+cli.Reachable.String()))
	defer cancel()
	one := sample{err: s.setClock(ctx)}
	if one.err == nil {
		one.states, one.err = s.inspect(ctx, keys)
	}
	one.at = time.Now()
	one.server = s.serverTime(one.at)
	if one.err == nil {
		one.circles, one.err = tree.Circles(ctx, nil, s.client.Inspect, one.states) // the budget is for looks
	}
	if ctx.Err() != nil {
		one.err = context.Cause(ctx)
	}
	return one
}

// inspect asks for each key by itself, all at once, so that one that fails spoils no other.
func (s *sampler) inspect(ctx context.Context, keys []string) ([]redislock.KeyState, error) {
	found, failed := make([][]redislock.KeyState, len(keys)), make([]error, len(keys))
	var all sync.WaitGroup
	for i, key := range keys {
		all.Go(func() { found[i], failed[i] = s.client.Inspect(ctx, []string{key}) })
	}
	all.Wait()
	return slices.Concat(found...), cmp.Or(failed...)
}

// setClock asks the server for the time. A user who may not ask has the same clock as the server, as far as is known.
func (s *sampler) setClock(ctx context.Context) error {
	before := time.Now()
	at, err := s.looks.RDB.Time(ctx).Result()
	if err != nil {
		if isRefusal(err) {
			return nil
		}
		return err
	}
	after := time.Now()
	s.offset.Store(int64(at.Sub(before.Add(after.Sub(before) / 2))))
	return nil
}

func (s *sampler) serverTime(at time.Time) time.Time { return at.Add(time.Duration(s.offset.Load())) }

func (s *sampler) searchOnce(ctx context.Context) {
	part := 0.0
	query := survey.Query{Pattern: s.pattern, Progress: func(done, all int64) {
		if all > 0 {
			part = min(1, float64(done)/float64(all))
			s.find(ctx, sample{part: part}) // it may find nothing for long
		}
		s.wait(ctx, time.Now())
	}}
	err := survey.Locks(ctx, s.search.Conn, query, func(states []redislock.KeyState) error {
		s.find(ctx, sample{part: part, states: states})
		s.wait(ctx, time.Now())
		return context.Cause(ctx)
	})
	s.find(ctx, sample{passed: err == nil, part: 1, err: err})
}

// find sends a sample of the search, of now.
func (s *sampler) find(ctx context.Context, one sample) {
	one.at, one.found = time.Now(), true
	one.server = s.serverTime(one.at)
	s.send(ctx, one)
}

// wait waits until a moment, and for as long as the sampler is paused.
func (s *sampler) wait(ctx context.Context, until time.Time) {
	for s.paused.Load() || time.Now().Before(until) {
		if !pace.Sleep(ctx, 50*time.Millisecond) {
			return
		}
	}
}

// isRefusal reports whether the server is there, and refuses this user, or its password.
func isRefusal(err error) bool { return cli.IsRefusal(err) || redis.IsAuthError(err) }
