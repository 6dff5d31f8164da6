package election_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/quorum"
)

// The function runs in one process at a time. It resigns when it returns.
func ExampleElect() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	ctx := context.Background()
	err := election.Elect(ctx, client, "leader:billing", 10*time.Second, func(ctx context.Context) error {
		fmt.Println("this process leads, by number:", redislock.FromContext(ctx).Fence() > 0)
		return nil
	})
	fmt.Println(err)
	// Output:
	// this process leads, by number: true
	// <nil>
}

// What becomes of a term that is lost: the function is told by its context, Lost by the error, and then the candidate leads
// again, in another term.
func ExampleCandidate_Run() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	c := election.Candidate{
		Client: client, Key: "leader:billing", TTL: time.Second, Metadata: "host=web-3",
		Lost: func(_ context.Context, err error) {
			fmt.Println("lost:", errors.Is(err, redislock.ErrLockLost))
		},
	}
	terms := make(map[string]bool)
	err := c.Run(context.Background(), func(ctx context.Context) error {
		terms[election.TermID(ctx)] = true
		if len(terms) == 2 {
			return errors.New("all is done")
		}
		rdb.Del(ctx, "leader:billing") // somebody does
		<-ctx.Done()
		return nil
	})
	fmt.Printf("%v, after %d terms\n", err, len(terms))
	// Output:
	// lost: true
	// all is done, after 2 terms
}

func ExampleLeader() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	ctx := context.Background()
	c := election.Candidate{Client: client, Key: "leader:billing", TTL: 10 * time.Second, Metadata: "host=web-3"}
	_ = c.Run(ctx, func(ctx context.Context) error {
		term, err := election.Leader(ctx, "leader:billing", client)
		if err != nil {
			return err
		}
		fmt.Println(term.Metadata, "leads; is it this process?", term.ID == election.TermID(ctx))
		return nil
	})
	term, err := election.Leader(ctx, "leader:billing", client)
	fmt.Println(term, err)
	// Output:
	// host=web-3 leads; is it this process? true
	// nobody leads <nil>
}

func ExampleFollow() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	ctx := context.Background()
	ended := make(chan error)
	for term, err := range election.Follow(ctx, "leader:billing", 10*time.Millisecond, client) {
		switch {
		case err != nil:
			fmt.Println("nobody knows:", err)
		case !term.Led:
			fmt.Println("nobody leads")
			go func() {
				c := election.Candidate{Client: client, Key: "leader:billing", TTL: 10 * time.Second, Metadata: "host=web-3"}
				ended <- c.Run(ctx, func(context.Context) error {
					time.Sleep(100 * time.Millisecond)
					return nil
				})
			}()
			continue
		default:
			fmt.Println(term.Metadata, "leads")
		}
		break
	}
	fmt.Println(<-ended)
	// Output:
	// nobody leads
	// host=web-3 leads
	// <nil>
}

// Over a quorum nobody can stand in line, so a candidate asks again and again.
func ExampleCandidate_quorum() {
	var servers []*redis.Client // each with a server of its own
	for range 3 {
		rdb, stop := locktest.Start()
		defer stop()
		servers = append(servers, rdb)
	}

	var nodes []*redislock.Client
	for _, rdb := range servers {
		node := redislock.New(rdb)
		defer node.Close()
		nodes = append(nodes, node)
	}
	client, err := quorum.New(nodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	c := election.Candidate{
		Client: client, Key: "leader:billing", TTL: 10 * time.Second, Metadata: "host=web-3",
		RetryStrategy: redislock.ExponentialBackoff(50*time.Millisecond, 500*time.Millisecond),
	}
	err = c.Run(context.Background(), func(ctx context.Context) error {
		term, err := election.Leader(ctx, c.Key, nodes...)
		fmt.Println(term.Metadata, "leads, under the number of its lock:", term.Fence == quorum.FromContext(ctx).Fence())
		return err
	})
	fmt.Println(err)
	// Output:
	// host=web-3 leads, under the number of its lock: true
	// <nil>
}
