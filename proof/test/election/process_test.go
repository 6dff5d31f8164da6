package election_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// processTTL is the lease of a leader in a process of its own. It is longer than a busy machine stands still.
const processTTL = 4 * time.Second

// onTime is by how much a busy machine may delay what follows.
const onTime = 8 * time.Second

// A street is a server of its own, with candidates in processes of their own.
type street struct {
	*world.World
	server *redistest.Server
	*history
	named map[string]*peer
}

func newStreet(t *testing.T, kind redistest.Kind, n int) *street {
	t.Helper()
	server := redistest.Start(t, kind)
	s := &street{world.New(t, server), server, newHistory(), make(map[string]*peer)}
	for i := range n {
		s.enterOne(t, fmt.Sprint("p", i))
	}
	return s
}

// enterOne adds a candidate, behind the others.
func (s *street) enterOne(t *testing.T, name string) {
	t.Helper()
	s.named[name] = s.enter(t, name, s.Key("k"), processTTL, 0, s.server.Addr())
	if behind := len(s.named) - 1; behind > 0 {
		s.InLine(t, s.Key("k"), behind)
	} else {
		s.next(t, 0)
	}
}

// leaseEnds returns when the lease of a leader ends that does not renew it any more.
func (s *street) leaseEnds(t *testing.T) time.Time {
	t.Helper()
	left := check.Must[time.Duration](t)(s.RDB.PTTL(t.Context(), s.Key("k")).Result())
	return time.Now().Add(left)
}

// gap logs for how long nobody has led since then, and checks that it is no longer than it may be.
func (s *street) gap(t *testing.T, what string, since time.Time, r reign, most time.Duration) {
	t.Helper()
	gap := r.first.Sub(since)
	t.Logf("%s: nobody led for %v", what, gap.Round(100*time.Microsecond))
	if gap > most+onTime {
		t.Errorf("%s: nobody led for %v, want %v at most", what, gap, most)
	}
}

// Each leader in turn is killed, and the next one in line leads when the lease is over.
func TestProcessKilled(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := newStreet(t, kind, 4)
		r := s.next(t, 0)
		for i := range 3 {
			if want := fmt.Sprint("p", i); r.who != want {
				t.Errorf("%s leads, want %s", r.who, want)
			}
			s.goesOn(t, r, r.first.Add(time.Duration(i+1)*processTTL/5))
			since := time.Now()
			s.named[r.who].Kill()
			end := s.leaseEnds(t)
			r = s.next(t, r.number)
			s.gap(t, "kill -9", since, r, processTTL)
			t.Logf("%v of that after the end of the lease", r.first.Sub(end).Round(100*time.Microsecond))
		}
		s.wantOneAtATime(t)
	})
}

// A leader that is told to end resigns, and the next one leads at once.
func TestProcessResigns(t *testing.T) {
	t.Parallel()
	s := newStreet(t, redistest.Redis, 4)
	r := s.next(t, 0)
	for range 3 {
		s.goesOn(t, r, r.first.Add(50*time.Millisecond))
		since := time.Now()
		s.named[r.who].resign(t)
		r = s.next(t, r.number)
		s.gap(t, "SIGTERM", since, r, world.Soon-onTime)
	}
	s.wantOneAtATime(t)
}

// A leader that sleeps for longer than its lease is followed as one that died. When it wakes up it knows that it was, and is
// a candidate again.
func TestProcessStopped(t *testing.T) {
	t.Parallel()
	s := newStreet(t, redistest.Redis, 2)
	r := s.next(t, 0)
	for range 2 {
		s.goesOn(t, r, r.first.Add(200*time.Millisecond))
		sleeper := s.named[r.who]
		since := time.Now()
		sleeper.Pause()
		end := s.leaseEnds(t)
		next := s.next(t, r.number)
		s.gap(t, "SIGSTOP", since, next, processTTL)
		t.Logf("%v of that after the end of the lease", next.first.Sub(end).Round(100*time.Microsecond))
		if next.who == r.who {
			t.Fatalf("%s leads while it sleeps", r.who)
		}
		sleeper.Resume()
		check.Eventually(t, patience, "it knows that it was followed", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.lost[r.who] > 0
		})
		s.InLine(t, s.Key("k"), 1)
		r = next
	}
	s.wantOneAtATime(t)
}

// A follower in this process sees each of them.
func TestProcessFollowed(t *testing.T) {
	t.Parallel()
	s := newStreet(t, redistest.Redis, 3)
	all := follow(t, s.Key("k"), 20*time.Millisecond, s.Client)
	r := s.next(t, 0)
	for i := range 3 {
		var got election.Term
		for got = (election.Term{}); !got.Led; { // between two of them nobody leads
			tells := next(t, all, "the leader")
			check.NoError(t, tells.err)
			got = tells.term
		}
		if got.Metadata != r.who || got.Fence != r.number || r.first.Sub(got.Since) < 0 || r.first.Sub(got.Since) > onTime {
			t.Errorf("got %v, want %s since %v under number %d", got, r.who, r.first, r.number)
		}
		s.named[r.who].Kill()
		if i < 2 {
			r = s.next(t, r.number)
		}
	}
	if got := next(t, all, "that nobody leads"); got.err != nil || got.term != (election.Term{}) {
		t.Errorf("got %v and %v, want that nobody leads", got.term, got.err)
	}
	s.wantOneAtATime(t)
}
