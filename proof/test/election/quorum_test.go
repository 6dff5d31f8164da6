package election_test

import (
	"context"
	"crypto/fips140"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/quorum"
)

// A ballot is an election over several nodes.
type ballot struct {
	nodes  []*redislock.Client
	rdbs   []*redis.Client
	client *quorum.Client
	down   [3]atomic.Bool // the node answers nothing but errors
}

// onNodes runs fn in virtual time, with three nodes.
func onNodes(t *testing.T, fn func(t *testing.T, b *ballot)) {
	t.Helper()
	if fips140.Enforced() {
		t.Skip("under fips140=only random numbers come from the jitter of the clock, which a bubble has not")
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &ballot{}
		for i := range b.down {
			rdb := redistest.PipeMini(t).Client(t)
			rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
				if b.down[i].Load() && strings.HasPrefix(cmd.Name(), "eval") {
					cmd.SetErr(world.Refusal("LOADING Redis is loading the dataset in memory"))
				}
				return cmd.Err() != nil
			}})
			b.rdbs = append(b.rdbs, rdb)
			b.nodes = append(b.nodes, world.NewClient(t, rdb))
		}
		b.client = check.Must[*quorum.Client](t)(quorum.New(b.nodes))
		t.Cleanup(b.client.Close)
		fn(t, b)
	})
}

func (b *ballot) candidate(t *testing.T, name string, ttl time.Duration) *runner {
	t.Helper()
	return start(t, &election.Candidate{Client: b.client, Key: "k", TTL: ttl, Metadata: name, Logger: slog.New(slog.DiscardHandler)})
}

func (b *ballot) leader(t *testing.T) (election.Term, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return election.Leader(ctx, "k", b.nodes...)
}

// Over a quorum candidates ask again and again, and elect one after the other.
func TestQuorumElects(t *testing.T) {
	onNodes(t, func(t *testing.T, b *ballot) {
		const ttl = 10 * time.Second
		first := b.candidate(t, "a", ttl)
		l := first.elected(t)
		second := b.candidate(t, "b", ttl)
		time.Sleep(30 * time.Second)
		if len(second.leads) > 0 {
			t.Fatal("two lead")
		}
		since := time.Now()
		l.finish <- errDone
		check.Is(t, next(t, first.ended, "the end of Run"), errDone)
		got := second.elected(t)
		gap := got.at.Sub(since)
		t.Logf("resigned: nobody led for %v", gap)
		if gap > 2*time.Second {
			t.Errorf("nobody led for %v, want the longest wait at most", gap)
		}
		if got.number <= l.number || got.id == l.id {
			t.Errorf("got number %d and id %s after %d and %s", got.number, got.id, l.number, l.id)
		}
	})
}

// A leader that loses its majority is followed, and is a candidate again.
func TestQuorumLoses(t *testing.T) {
	onNodes(t, func(t *testing.T, b *ballot) {
		r := b.candidate(t, "a", 3*time.Second)
		l := r.elected(t)
		time.Sleep(500 * time.Millisecond) // until all nodes have granted it
		for i, rdb := range b.rdbs[:2] {   // somebody else has them, so they are not won back
			check.NoError(t, rdb.Del(t.Context(), "k").Err())
			check.Must[*redislock.Lock](t)(b.nodes[i].Obtain(t.Context(), []string{"k"}, 10*time.Second, nil))
		}
		next(t, l.ctx.Done(), "the end of the context")
		check.Is(t, next(t, r.lost, "the loss"), redislock.ErrLockLost)
		if again := r.elected(t); again.id == l.id || again.number <= l.number {
			t.Errorf("got number %d and id %s after %d and %s", again.number, again.id, l.number, l.id)
		}
	})
}

// A node on which the key is no lock keeps nobody from being elected by the others.
func TestQuorumForeignKey(t *testing.T) {
	onNodes(t, func(t *testing.T, b *ballot) {
		check.NoError(t, b.rdbs[0].Set(t.Context(), "k", "data", 0).Err())
		l := b.candidate(t, "a", 3*time.Second).elected(t)
		r := b.candidate(t, "b", 3*time.Second)
		time.Sleep(10 * time.Second)
		l.finish <- nil
		r.elected(t)
	})
}

// While a majority is down nobody is elected, and the candidates go on.
func TestQuorumDown(t *testing.T) {
	onNodes(t, func(t *testing.T, b *ballot) {
		b.down[0].Store(true)
		b.down[1].Store(true)
		r := b.candidate(t, "a", 3*time.Second)
		time.Sleep(time.Minute)
		if len(r.leads) > 0 || len(r.ended) > 0 {
			t.Fatal("it leads, or has given up")
		}
		b.down[0].Store(false)
		since := time.Now()
		if took := r.elected(t).at.Sub(since); took > 5*time.Second {
			t.Errorf("it was elected after %v", took)
		}
	})
}

// What is read of a quorum is what a majority of its nodes says.
func TestQuorumLeader(t *testing.T) {
	onNodes(t, func(t *testing.T, b *ballot) {
		want := func(what string, want election.Term) {
			t.Helper()
			got, err := b.leader(t)
			if err != nil || got.ID != want.ID || got.Led != want.Led || got.Fence != want.Fence || got.Metadata != want.Metadata {
				t.Errorf("%s: got %v and %v, want %v", what, got, err, want)
			}
		}
		unclear := func(what string) {
			t.Helper()
			if got, err := b.leader(t); err == nil || !strings.Contains(err.Error(), "too few servers have answered") {
				t.Errorf("%s: got %v and %v, want that nobody can tell", what, got, err)
			}
		}
		want("nobody", election.Term{})
		b.down[0].Store(true)
		want("nobody, of two", election.Term{})
		b.down[1].Store(true)
		unclear("nobody, of one")
		b.down[0].Store(false)
		b.down[1].Store(false)

		l := b.candidate(t, "a", 30*time.Second).elected(t)
		time.Sleep(500 * time.Millisecond) // until all nodes have granted it
		term := election.Term{Led: true, ID: l.id, Metadata: "a", Fence: l.number}
		want("a", term)
		for i := range b.nodes {
			b.down[i].Store(true)
			want("a, of two", term)
			b.down[i].Store(false)
		}
		check.NoError(t, b.rdbs[0].Del(t.Context(), "k").Err())
		want("a, who has lost one", term)
		b.down[1].Store(true)
		unclear("a, who has lost one, and another is down")
		b.down[1].Store(false)
		time.Sleep(time.Minute)
		want("a, who has won it back", term)
		b.down[1].Store(true)
		want("a, who has won it back, and another is down", term)
		b.down[1].Store(false)

		for i, node := range b.nodes { // one holds each node
			check.NoError(t, b.rdbs[i].Del(t.Context(), "k").Err())
			check.Must[*redislock.Lock](t)(node.Obtain(redislock.WithCaller(t.Context(), string(rune('x'+i))), []string{"k"}, time.Minute, nil))
		}
		want("split", election.Term{})
		for what, hold := range map[string]func(i int) (id, metadata string){
			"terms of one process":  func(i int) (string, string) { return string(rune('x' + i)), "m" },
			"holders without an id": func(i int) (string, string) { return "", string(rune('x' + i)) },
		} {
			for i, node := range b.nodes {
				ctx := t.Context()
				id, metadata := hold(i)
				if id != "" {
					ctx = redislock.WithCaller(ctx, id)
				}
				check.NoError(t, b.rdbs[i].Del(t.Context(), "k").Err())
				check.Must[*redislock.Lock](t)(node.Obtain(ctx, []string{"k"}, time.Minute, &redislock.Options{Metadata: metadata}))
			}
			want(what, election.Term{})
		}
	})
}

// Follow tells of a majority, and of the end of one.
func TestQuorumFollow(t *testing.T) {
	onNodes(t, func(t *testing.T, b *ballot) {
		r := b.candidate(t, "a", 30*time.Second)
		l := r.elected(t)
		time.Sleep(500 * time.Millisecond) // until all nodes have granted it
		all := follow(t, "k", time.Second, b.nodes...)
		if got := next(t, all, "the leader"); got.term.ID != l.id || got.err != nil {
			t.Errorf("got %v and %v, want id %s", got.term, got.err, l.id)
		}
		b.down[2].Store(true)
		time.Sleep(10 * time.Second)
		if len(all) > 0 {
			t.Errorf("it tells %v when one node is down", next(t, all, ""))
		}
		b.down[1].Store(true)
		if got := next(t, all, "the error"); got.err == nil || got.term.ID != l.id {
			t.Errorf("got %v and %v, want the error and the last leader", got.term, got.err)
		}
		b.down[1].Store(false)
		b.down[2].Store(false)
		next(t, all, "that it is known again")
		l.finish <- nil
		if got := next(t, all, "that nobody leads"); got.err != nil || got.term.Led {
			t.Errorf("got %v and %v, want that nobody leads", got.term, got.err)
		}
	})
}

// A node that hangs delays nobody when the others agree, and keeps nothing running when they do not.
func TestQuorumLeaderHungNode(t *testing.T) {
	t.Parallel()
	var nodes []*redislock.Client
	var servers []*redistest.Server
	for range 3 {
		s := redistest.Start(t, redistest.Redis)
		node := world.NewClient(t, s.Client(t, func(opt *redis.Options) { opt.ReadTimeout = world.Long }))
		servers, nodes = append(servers, s), append(nodes, node)
	}
	client := check.Must[*quorum.Client](t)(quorum.New(nodes, quorum.WithNodeTimeout(world.Long)))
	t.Cleanup(client.Close)
	r := start(t, &election.Candidate{Client: client, Key: "k", TTL: world.Long, Metadata: "a"})
	l := r.elected(t)
	for _, node := range nodes {
		check.Eventually(t, patience, "each node has granted it", func() bool {
			return check.Must[election.Term](t)(election.Leader(t.Context(), "k", node)).ID == l.id
		})
	}
	servers[2].Pause()
	defer servers[2].Resume()
	ctx, cancel := context.WithTimeout(t.Context(), patience/2) // the Redis client of the node waits for longer
	defer cancel()
	got, err := election.Leader(ctx, "k", nodes...)
	if err != nil || got.ID != l.id {
		t.Errorf("got %v and %v, want id %s", got, err, l.id)
	}
	if ctx.Err() != nil {
		t.Error("it has waited for the node that hangs until the context has ended")
	}
	servers[1].Pause()
	defer servers[1].Resume()
	short, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if _, err := election.Leader(short, "k", nodes...); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
}
