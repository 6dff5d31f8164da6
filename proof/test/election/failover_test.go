package election_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A watched is a primary with a replica and three sentinels, and candidates in processes of their own.
type watched struct {
	*redistest.Sentinels
	*history
	former *redistest.Server
	client *redislock.Client
	named  map[string]*peer
}

const failoverKey = "leader"

// newWatched returns when all stand in line, and the replica knows as much as its primary.
func newWatched(t *testing.T, n int, ttl time.Duration, replicas int) *watched {
	t.Helper()
	s := redistest.StartSentinels(t, redistest.Redis, 1, 3)
	w := &watched{s, newHistory(), s.Servers()[0], world.NewClient(t, s.Client(t)), make(map[string]*peer)}
	addrs := []string{"main"}
	for _, sentinel := range s.Sentinels() {
		addrs = append(addrs, sentinel.Addr())
	}
	for i := range n {
		name := fmt.Sprint("p", i)
		w.named[name] = w.enter(t, name, failoverKey, ttl, replicas, addrs...)
		if i == 0 {
			w.next(t, 0)
		} else {
			(&world.World{Client: w.client}).InLine(t, failoverKey, i)
		}
	}
	world.CaughtUp(t, w.former.Client(t), 1)
	return w
}

// A fail-over that is over before the lease is changes nothing: the leader leads on, under its number. When it dies, the next
// one follows at the new primary.
func TestFailoverLeaderLeadsOn(t *testing.T) {
	t.Parallel()
	const ttl = 8 * time.Second
	w := newWatched(t, 3, ttl, 0)
	r := w.next(t, 0)
	since := time.Now()
	w.former.Kill()
	w.AwaitSuccessor(w.former)
	w.goesOn(t, r, since.Add(ttl)) // longer than the lease that it had
	since = time.Now()
	w.named[r.who].Kill()
	next := w.next(t, r.number)
	gap := next.first.Sub(since)
	t.Logf("kill -9 after the fail-over: nobody led for %v", gap)
	if gap > ttl+onTime {
		t.Errorf("nobody led for %v, want %v at most", gap, ttl)
	}
	w.wantOneAtATime(t)
}

// A lease that is shorter than the fail-over ends, whoever the leader is. Then somebody leads as soon as there is a primary.
func TestFailoverLongerThanLease(t *testing.T) {
	t.Parallel()
	for name, kills := range map[string]bool{"the primary dies": false, "the leader dies with it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatched(t, 3, 600*time.Millisecond, 0)
			var r reign // a machine that stands still may end some before
			check.Eventually(t, 40*time.Second, "somebody leads for half a second", func() bool {
				r, _ = w.latest(0)
				return r.last.Sub(r.first) >= 500*time.Millisecond
			})
			since := time.Now()
			if kills {
				w.named[r.who].Kill()
			}
			w.former.Kill()
			w.AwaitSuccessor(w.former)
			promoted := time.Now()
			next := w.next(t, r.number)
			t.Logf("a new primary after %v; nobody led for %v", promoted.Sub(since), next.first.Sub(since))
			if took := next.first.Sub(promoted); took > 20*time.Second {
				t.Errorf("nobody led for %v at the new primary", took)
			}
			w.wantOneAtATime(t)
		})
	}
}

// If candidates wait for replicas nobody leads before the replica that is missing is back, and a fail-over that loses writes
// elects no second leader beside the first one.
func TestFailoverWithReplicas(t *testing.T) {
	t.Parallel()
	w := newWatched(t, 2, processTTL, 1)
	r := w.next(t, 0)
	w.former.Kill()
	successor := w.AwaitSuccessor(w.former)
	time.Sleep(2 * processTTL)
	if again, elected := w.latest(r.number); elected {
		t.Errorf("%s leads while there is no replica", again.who)
	}
	w.former.Restart("--replicaof", "127.0.0.1", strconv.Itoa(successor.Port()))
	again := w.next(t, r.number)
	w.goesOn(t, again, again.first.Add(processTTL))
	check.Eventually(t, patience, "the first one knows that it was followed", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.lost[r.who] > 0
	})
	w.wantOneAtATime(t)
}
