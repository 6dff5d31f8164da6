package election_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/quorum"
)

// A billing runs in one process of many.
type billing struct {
	rdb *redis.Client
	log *slog.Logger
}

// run takes part in the election until ctx ends, and bills whenever this process leads.
func (b *billing) run(ctx context.Context, client *redislock.Client) error {
	c := election.Candidate{
		Client: client, Key: "leader:billing", TTL: 10 * time.Second,
		Lost: func(ctx context.Context, err error) { b.log.WarnContext(ctx, "billing was interrupted", "error", err) },
	}
	return c.Run(ctx, b.lead)
}

// lead bills once a minute. It returns, and so resigns, when ctx ends: because the process is to end, or because somebody
// else leads.
func (b *billing) lead(ctx context.Context) error {
	number := redislock.FromContext(ctx).Fence()
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	for {
		// Redis refuses this to a leader who has been followed and does not know it yet.
		if err := fencing.Set(ctx, b.rdb, "billing:last", number, time.Now().Format(time.RFC3339), 24*time.Hour); err != nil {
			return err
		}
		select {
		case <-minute.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// followBilling tells who bills, until ctx ends.
func followBilling(ctx context.Context, client *redislock.Client, tell func(string)) {
	for term, err := range election.Follow(ctx, "leader:billing", time.Second, client) {
		if err != nil {
			tell("nobody knows who bills: " + err.Error()) // it goes on asking
			continue
		}
		tell(term.String())
	}
}

// billTogether takes part in an election over several servers.
func billTogether(ctx context.Context, nodes []*redislock.Client, bill func(context.Context) error) error {
	client, err := quorum.New(nodes)
	if err != nil {
		return err
	}
	defer client.Close()
	if term, err := election.Leader(ctx, "leader:billing", nodes...); err == nil {
		fmt.Println(term) // what a majority of the nodes says
	}
	c := election.Candidate{
		Client: client, Key: "leader:billing", TTL: 10 * time.Second,
		RetryStrategy: redislock.ExponentialBackoff(50*time.Millisecond, 500*time.Millisecond),
	}
	return c.Run(ctx, bill)
}

// One of several processes leads at a time.
func Example_election() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	ctx, cancel := context.WithCancel(context.Background()) // such as that of signal.NotifyContext
	err := election.Elect(ctx, client, "leader:billing", 10*time.Second, func(ctx context.Context) error {
		fmt.Println("this process leads")
		cancel() // it is told to end
		<-ctx.Done()
		return nil // and resigns
	})
	fmt.Println("resigned:", err)
	// Output:
	// this process leads
	// resigned: <nil>
}

func Example_electionParts() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	b := &billing{rdb: rdb, log: slog.New(slog.DiscardHandler)}
	fmt.Println(b.run(ctx, client))
	fmt.Println(rdb.Exists(context.Background(), "billing:last").Val() == 1)

	ctx, cancel = context.WithCancel(context.Background())
	followBilling(ctx, client, func(text string) {
		fmt.Println(text)
		cancel()
	})
	fmt.Println(billTogether(context.Background(), []*redislock.Client{client}, func(context.Context) error { return nil }))
	// Output:
	// <nil>
	// true
	// nobody leads
	// nobody leads
	// <nil>
}
