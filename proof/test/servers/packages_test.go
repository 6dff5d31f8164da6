package servers_test

import (
	"context"
	"errors"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
	"github.com/seed-14de3678/redislock/reentrant"
)

func ofMulti(e *site) {
	parts := []multi.Part{
		{Client: e.a, Place: "a", Set: redislock.Set{Write: e.keys("a", "b")}},
		{Client: e.part("p:"), Place: "b", Set: redislock.Set{Write: e.keys("c")}},
	}
	lock, err := multi.Obtain(e.ctx, parts, long, &redislock.Options{Metadata: "whole"})
	e.must("obtain", err)
	e.refused("b", redislock.ModeWrite, "whole")
	_, err = multi.Obtain(e.ctx, parts[1:], long, nil)
	e.want(errors.Is(err, redislock.ErrNotObtained), "the second part is held, but %v", err)
	e.must("release", lock.Release(e.ctx))
	e.isFree("a", "b")
	e.must("with", multi.With(e.ctx, parts, long, &redislock.Options{Queue: true}, func(context.Context) error { return nil }))
}

// part is a program with a name space of its own, which stands for another server.
func (e *site) part(more string) *redislock.Client {
	client := redislock.New(e.rdb, redislock.WithKeyPrefix(keyPrefix+more))
	e.clean = append(e.clean, client.Close)
	return client
}

// Three name spaces of one server stand for three servers.
func ofQuorum(e *site) {
	nodes := []*redislock.Client{e.part("1:"), e.part("2:"), e.part("3:")}
	one, err := quorum.New(nodes, quorum.WithNodeTimeout(patience))
	e.must("new", err)
	defer one.Close()
	lock, err := one.Obtain(e.ctx, e.keys("a", "b"), long, &redislock.Options{Fenced: true})
	e.must("obtain", err)
	two, err := quorum.New(nodes, quorum.WithNodeTimeout(patience))
	e.must("new", err)
	defer two.Close()
	_, err = two.Obtain(e.ctx, e.keys("b"), long, nil)
	e.want(errors.Is(err, redislock.ErrNotObtained), "it is held, but %v", err)
	e.want(lock.Fence() > 0, "a number, but %d", lock.Fence())
	e.must("release", lock.Release(e.ctx))
	strategy := redislock.LinearBackoff(20 * time.Millisecond) // the release may still be under way at one of three
	e.must("with", two.With(e.ctx, e.keys("b"), long, &redislock.Options{RetryStrategy: strategy}, func(context.Context) error { return nil }))
}

func ofReentrant(e *site) {
	owner := reentrant.NewOwner(e.ctx)
	outer, err := reentrant.Obtain(owner, e.a, e.keys("a"), long, nil)
	e.must("obtain", err)
	e.must("inner", reentrant.With(owner, e.a, e.keys("a", "b"), long, nil, func(context.Context) error {
		_, err := e.b.Obtain(e.ctx, e.keys("b"), long, nil)
		e.want(errors.Is(err, redislock.ErrNotObtained), "it is held, but %v", err)
		return nil
	}))
	e.isFree("b")
	_, err = e.b.Obtain(e.ctx, e.keys("a"), long, nil)
	e.want(errors.Is(err, redislock.ErrNotObtained), "the outer hold stays, but %v", err)
	e.must("release", outer.Release(owner))
	e.isFree("a")
}

// One leads, resigns, and is followed by the next.
func ofElection(e *site) {
	key, led := e.keys("leader")[0], make(chan string, 2)
	candidate := func(client *redislock.Client, name string) (resign func() error) {
		ctx, cancel := context.WithCancel(e.ctx)
		ended := make(chan error, 1)
		c := election.Candidate{Client: client, Key: key, TTL: 30 * time.Second, Metadata: name}
		go func() {
			ended <- c.Run(ctx, func(ctx context.Context) error {
				led <- name
				<-ctx.Done()
				return nil
			})
		}()
		return func() error {
			cancel()
			return receive(e, name+" resigns", ended)
		}
	}
	first := candidate(e.a, "first")
	e.want(receive(e, "a leader", led) == "first", "first leads")
	second := candidate(e.b, "second")
	term, err := election.Leader(e.ctx, key, e.b)
	e.must("leader", err)
	e.want(term.Led && term.Metadata == "first" && term.Fence > 0, "first leads, but %v", term)
	e.eventually("second stands in line", func() bool { return len(e.inspect("leader")[0].Line) > 0 })
	_ = first() // says how it has ended, which is that its context has
	e.want(receive(e, "a leader", led) == "second", "second leads")
	next, err := election.Leader(e.ctx, key, e.a)
	e.must("leader", err)
	e.want(next.Fence > term.Fence, "a number greater than %d, but %d", term.Fence, next.Fence)
	_ = second()
	e.isFree("leader")
}
