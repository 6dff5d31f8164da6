package election

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/pace"
)

const (
	usualEvery   = time.Second
	leastEvery   = time.Millisecond
	mostEvery    = 365 * 24 * time.Hour // to which a tenth can be added
	leastForRead = 2 * time.Second
)

// Follow tells who leads: first who does now, then each change, also that nobody leads.
//
//	for term, err := range election.Follow(ctx, key, time.Second, client) {
//
// It asks as [Leader] does, when the body of the loop has ended, and each time after `every` or up to a tenth more. So
// it sends at most one request per `every` to each node, whatever happens. A change is told after at most that time and
// the time of an answer. A term that has begun and ended in between is not told. If every is 0 it is a second; it is at
// least 1 ms and at most 365 days. There is no goroutine when the loop has ended.
//
// If it cannot find out who leads it yields the error once, with the Term that it has told last, and goes on asking.
// When it knows again it yields the Term, changed or not. The loop ends when ctx ends, and after an error that does not
// pass: arguments that are refused, before anything is sent, and a Client that is closed. Follow waits for an answer no
// longer than `every`, or 2 s if that is longer.
func Follow(ctx context.Context, key string, every time.Duration, nodes ...*redislock.Client) iter.Seq2[Term, error] {
	return func(yield func(Term, error) bool) {
		err := checkNodes(key, nodes)
		if err == nil && every < 0 {
			err = fmt.Errorf("invalid interval: %s", every)
		}
		if err != nil {
			yield(Term{}, fmt.Errorf("election: follow: %w", err))
			return
		}
		f := follower{key: key, every: every, nodes: nodes, yield: yield}
		if f.every == 0 {
			f.every = usualEvery
		}
		f.every = min(max(f.every, leastEvery), mostEvery)
		for f.look(ctx) {
			pace.Sleep(ctx, f.every+rand.N(f.every/10))
		}
	}
}

// A follower is one Follow under way.
type follower struct {
	key   string
	every time.Duration
	nodes []*redislock.Client
	yield func(Term, error) bool

	told    Term // last
	known   bool // the leader is known, and was told
	failing bool // and an error was told since
}

// look asks once, tells what has changed, and reports whether to go on.
func (f *follower) look(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	within, cancel := context.WithTimeout(ctx, max(f.every, leastForRead))
	term, err := Leader(within, f.key, f.nodes...)
	cancel()
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, redis.ErrClosed):
		f.yield(f.told, err)
		return false
	case err != nil:
		again := f.failing
		f.failing, f.known = true, false
		return again || f.yield(f.told, err)
	case f.known && term.isSame(f.told):
		return true
	}
	f.told, f.known, f.failing = term, true, false
	return f.yield(term, nil)
}
