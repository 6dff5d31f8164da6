package election_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// holds reports whether a candidate holds the key, elected or not.
func holds(t *testing.T, w *world.World) bool {
	t.Helper()
	states := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("k")))
	return len(states[0].Holders) > 0
}

// upForAnHour starts a server that has been up for an hour, as its clock says: so a Client that asks for that is granted
// locks there.
func upForAnHour(t *testing.T) *redistest.Server {
	t.Helper()
	server, clock := redistest.StartSkewed(t, redistest.Redis)
	clock.Shift(time.Hour + time.Minute)
	return server
}

// Where replicas are missing a candidate holds the key again and again, and gives it back. It is never named, and as soon as
// there is a replica it is: that one names it, too, in case it becomes the primary.
func TestLeaderReplicasMissing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	w := world.New(t, s, redislock.WithReplicas(1))
	c := candidate(w, "a", world.Long)
	c.RetryStrategy = redislock.LinearBackoff(time.Millisecond)
	r := start(t, c)
	all := follow(t, w.Key("k"), time.Millisecond, w.Client)
	var named atomic.Int64
	for held := 0; held < 100; {
		if term := leader(t, w); term.Led {
			named.Add(1)
		}
		if holds(t, w) {
			held++
		}
	}
	if n := named.Load(); n > 0 {
		t.Errorf("a candidate was named %d times that nobody has elected", n)
	}
	if _, elected := check.Receive(r.leads, 0); elected {
		t.Fatal("it was elected without a replica")
	}

	replica := redistest.Start(t, redistest.Redis, "--replicaof", "127.0.0.1", fmt.Sprint(s.Port()))
	elected := r.elected(t)
	for term := (election.Term{}); !term.Led; {
		told := next(t, all, "a leader to be told")
		if term = told.term; term.Led && (term.ID != elected.id || term.Fence != elected.number || term.Metadata != "a") {
			t.Errorf("got %v, want id %s and number %d", term, elected.id, elected.number)
		}
	}
	mirror := world.NewClient(t, replica.Client(t))
	check.Eventually(t, patience, "the replica names the leader", func() bool {
		term, err := election.Leader(t.Context(), w.Key("k"), mirror)
		return err == nil && term.ID == elected.id && term.Fence == elected.number
	})
}

// A leader whose replica has the lock, but not yet that it was elected, is named at its next renewal.
func TestLeaderNamedAgain(t *testing.T) {
	t.Parallel()
	w := world.New(t, upForAnHour(t), redislock.WithMinUptime(time.Hour))
	c := candidate(w, "a", 3*time.Second)
	r := start(t, c)
	elected := r.elected(t)
	isNamed := func() bool { return leader(t, w).ID == elected.id }
	check.Eventually(t, patience, "the leader is named", isNamed)
	stored := check.Must[string](t)(w.RDB.Get(t.Context(), w.Key("k")).Result())
	check.NoError(t, w.RDB.SetArgs(t.Context(), w.Key("k"), stored+"?", redis.SetArgs{KeepTTL: true, Mode: "XX"}).Err())
	check.Eventually(t, patience, "the leader is named again", isNamed)
	if got := check.Must[string](t)(w.RDB.Get(t.Context(), w.Key("k")).Result()); got != stored {
		t.Errorf("got %q, want %q", got, stored)
	}
	w.WantTTL(t, w.Key("k"), time.Millisecond, c.TTL)
}

// Whatever the metadata are, a candidate is named when it is elected and not before, with its metadata as they are. Somebody
// whose metadata look like those of a candidate that is not elected, and who is none, is named, too.
func TestLeaderOfAnyMetadata(t *testing.T) {
	t.Parallel()
	w := world.New(t, upForAnHour(t))
	asks := world.NewClient(t, w.RDB, redislock.WithMinUptime(time.Hour))
	for i, metadata := range []string{"a", "?", "a?", "a|?", "|a=|b", "caller=x?", "\x00\xff?"} {
		key, copied := w.Key(fmt.Sprint(i)), w.Key(fmt.Sprint("copy", i))
		c := candidate(w, metadata, world.Long)
		c.Key, c.Client = key, asks
		r := start(t, c)
		elected := r.elected(t)
		check.Eventually(t, patience, "the leader is named", func() bool {
			term := check.Must[election.Term](t)(election.Leader(t.Context(), key, w.Client))
			return term.ID == elected.id && term.Metadata == metadata
		})
		stored := check.Must[string](t)(w.RDB.Get(t.Context(), key).Result())
		check.NoError(t, w.RDB.Set(t.Context(), copied, stored+"?", world.Long).Err())
		if term := check.Must[election.Term](t)(election.Leader(t.Context(), copied, w.Client)); term.Led {
			t.Errorf("got leader %q before it is elected, of %q", term.ID, metadata)
		}
		state := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), []string{copied}))[0]
		if got := state.Holders[0]; got.Caller != elected.id+"?" || got.Metadata != metadata {
			t.Errorf("got id %q and metadata %q, want %q? and %q", got.Caller, got.Metadata, elected.id, metadata)
		}

		other := []string{w.Key(fmt.Sprint("other", i))}
		ctx := redislock.WithCaller(t.Context(), "x")
		check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, other, world.Long, &redislock.Options{Metadata: metadata}))
		if term := check.Must[election.Term](t)(election.Leader(ctx, other[0], w.Client)); term.ID != "x" || term.Metadata != metadata {
			t.Errorf("got leader %q with %q, want x with %q", term.ID, term.Metadata, metadata)
		}
	}
}

// A script that hands the key over does not look at the uptime that the next in line asks for. So that one is named when it
// has asked itself.
func TestLeaderHandedOver(t *testing.T) {
	t.Parallel()
	backend := upForAnHour(t)
	w, next := world.New(t, backend), backend.Client(t)
	first := start(t, candidate(w, "a", world.Long)).elected(t)
	going := make(chan struct{})
	var waits atomic.Bool
	next.AddHook(check.Around{Before: func(cmd redis.Cmder) {
		if waits.Load() && strings.HasPrefix(cmd.Name(), "eval") {
			<-going
		}
	}})
	c := candidate(w, "b", world.Long)
	c.Client = world.NewClient(t, next, redislock.WithMinUptime(time.Hour))
	r := start(t, c)
	inLine(t, w, 1)
	waits.Store(true)
	first.finish <- nil
	check.Eventually(t, patience, "the key is handed over", func() bool {
		states := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("k")))
		return len(states[0].Holders) > 0 && states[0].Holders[0].Metadata == "b"
	})
	if term := leader(t, w); term.Led {
		t.Errorf("got %v before it has asked", term)
	}
	close(going)
	elected := r.elected(t)
	check.Eventually(t, patience, "the leader is named", func() bool { return leader(t, w).ID == elected.id })
}

// Whose Client asks for neither replicas nor an uptime is granted by the script, and named at once. What the leader obtains while it leads
// stands under the id of its term.
func TestLeaderNamedAtOnce(t *testing.T) {
	t.Parallel()
	for name, uptime := range map[string]time.Duration{"plain": 0, "with an uptime": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, upForAnHour(t), redislock.WithMinUptime(uptime))
			c := election.Candidate{Client: w.Client, Key: w.Key("k"), TTL: world.Long}
			check.NoError(t, c.Run(t.Context(), func(ctx context.Context) error {
				if term := leader(t, w); uptime == 0 && term.ID != election.TermID(ctx) {
					t.Errorf("got %v, want term %s", term, election.TermID(ctx))
				}
				return w.Client.With(ctx, w.Keys("job"), world.Long, nil, func(ctx context.Context) error {
					states, err := w.Client.Inspect(ctx, w.Keys("job"))
					if err == nil && states[0].Holders[0].Caller != election.TermID(ctx) {
						t.Errorf("the job is held by %q, want %s", states[0].Holders[0].Caller, election.TermID(ctx))
					}
					return err
				})
			}))
		})
	}
}

// A countedPause is as many seconds long as it was asked for so far.
type countedPause struct{ n int }

func (p *countedPause) NextBackOff() time.Duration { p.n++; return time.Duration(p.n) * time.Second }

// After each short term a candidate waits for longer. A long one ends that: it stands in line at once, and waits as little as
// at first after the next short one.
func TestRunPauseBeginsAnew(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		c := candidate(w, "a", 300*time.Millisecond)
		c.RetryStrategy = func() redislock.BackOff { return &countedPause{} }
		r := start(t, c)
		for i, term := range []struct {
			long  bool
			pause int // seconds before the next term
		}{{false, 1}, {false, 2}, {false, 3}, {true, 0}, {false, 1}, {false, 2}} {
			l := r.elected(t)
			if term.long {
				time.Sleep(2 * time.Second)
			}
			check.NoError(t, w.RDB.Del(t.Context(), w.Key("k")).Err())
			<-l.ctx.Done()
			ended := time.Now()
			again := r.elected(t)
			if got := int(again.at.Sub(ended).Round(time.Second) / time.Second); got != term.pause {
				t.Errorf("term %d: it waited %d s, want %d", i, got, term.pause)
			}
			r.leads <- again
		}
	})
}
