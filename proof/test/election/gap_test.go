package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A resignation elects the next candidate in the one script that it runs: nothing is asked by anybody else.
func TestResignationIsOneScript(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := redistest.Start(t, kind)
		w, other := world.New(t, s), world.New(t, s)
		check.NoError(t, candidate(w, "", world.Long).Run(t.Context(), func(context.Context) error { return nil })) // the server knows the scripts
		first := start(t, candidate(w, "a", world.Long)).elected(t)
		c := candidate(w, "b", world.Long)
		c.Client = other.Client
		r := start(t, c)
		inLine(t, w, 1)
		admin := s.Client(t)
		check.Eventually(t, patience, "the candidate can be told", func() bool {
			channels, err := admin.PubSubChannels(t.Context(), "redislock:wake:*").Result()
			return err == nil && len(channels) == 1
		})
		calls := world.Counted(t, admin, func() {
			since := time.Now()
			first.finish <- nil
			t.Logf("resigned, and the next one leads, in %v", r.elected(t).at.Sub(since))
		})
		if calls.Scripts() != 1 {
			t.Errorf("got %d scripts (%v), want the one that resigns", calls.Scripts(), calls)
		}
	})
}

// In virtual time the next one leads in the same instant.
func TestGapAfterResignation(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		first := start(t, candidate(w, "a", time.Minute)).elected(t)
		r := start(t, candidate(w, "b", time.Minute))
		time.Sleep(time.Second)
		since := time.Now()
		first.finish <- nil
		if gap := r.elected(t).at.Sub(since); gap != 0 {
			t.Errorf("nobody led for %v", gap)
		}
	})
}

// doomed elects a leader of which nothing is heard any more once it has died: its lease is neither renewed nor given back
// before the test ends.
func doomed(t *testing.T, w *world.World, mini *redistest.Mini, ttl time.Duration) (die func()) {
	t.Helper()
	dies := world.New(t, mini)
	c := candidate(w, "doomed", ttl)
	c.Client = dies.Client
	leads, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Run(t.Context(), func(context.Context) error {
			close(leads)
			<-t.Context().Done() // whatever becomes of its lock
			return nil
		})
	}()
	t.Cleanup(func() { <-ended })
	<-leads
	return dies.Client.Close
}

// afterEnd is by how much a lease is certain to be over, and renewal is how much of it is left when it is renewed.
const afterEnd = 5 * time.Millisecond

// In virtual time nobody leads for what is left of the lease of a leader that has died: it is renewed when a third of it is
// over, so that is two thirds to all of it.
func TestGapAfterDeath(t *testing.T) {
	t.Parallel()
	const ttl = 12 * time.Second
	for _, after := range []time.Duration{10 * time.Millisecond, 3 * time.Second, 3999 * time.Millisecond, 5 * time.Second, 31 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				die := doomed(t, w, mini, ttl)
				r := start(t, candidate(w, "b", ttl))
				time.Sleep(after)
				die()
				since := time.Now()
				left := check.Must[time.Duration](t)(w.RDB.PTTL(t.Context(), w.Key("k")).Result())
				gap := r.elected(t).at.Sub(since)
				if gap < left || gap > left+afterEnd {
					t.Errorf("nobody led for %v, want the %v that were left", gap, left)
				}
				if left < ttl*2/3-afterEnd || left > ttl {
					t.Errorf("%v were left of %v, want two thirds to all of it", left, ttl)
				}
			})
		})
	}
}

// A candidate that asks again and again leads after the longest of its waits, or when the lease is over.
func TestGapWhilePolling(t *testing.T) {
	t.Parallel()
	const ttl, every = 12 * time.Second, 300 * time.Millisecond
	polling := func(t *testing.T, w *world.World) *runner {
		t.Helper()
		c := candidate(w, "b", ttl)
		c.Client, c.RetryStrategy = bareClient(t, w), redislock.LinearBackoff(every)
		return start(t, c)
	}
	t.Run("resignation", func(t *testing.T) {
		t.Parallel()
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			first := start(t, candidate(w, "a", ttl)).elected(t)
			r := polling(t, w)
			time.Sleep(10*time.Second + every/2)
			since := time.Now()
			first.finish <- nil
			if gap := r.elected(t).at.Sub(since); gap <= 0 || gap > every {
				t.Errorf("nobody led for %v, want up to %v", gap, every)
			}
		})
	})
	t.Run("death", func(t *testing.T) {
		t.Parallel()
		world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
			die := doomed(t, w, mini, ttl)
			r := polling(t, w)
			time.Sleep(10 * time.Second)
			die()
			left := check.Must[time.Duration](t)(w.RDB.PTTL(t.Context(), w.Key("k")).Result())
			since := time.Now()
			if gap := r.elected(t).at.Sub(since); gap < left || gap > left+every {
				t.Errorf("nobody led for %v, want the %v that were left and up to %v", gap, left, every)
			}
		})
	})
}

// A loss soon after the last one is a reason to wait, so that a key that is deleted all the time is not obtained all the time.
func TestRunLosesAgainAndAgain(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		c := candidate(w, "a", 30*time.Millisecond)
		c.RetryStrategy = redislock.LinearBackoff(time.Second)
		r := start(t, c)
		deadline := time.Now().Add(time.Minute)
		terms := 0
		for time.Now().Before(deadline) {
			r.elected(t)
			terms++
			check.NoError(t, w.RDB.Del(t.Context(), w.Key("k")).Err())
			check.Is(t, next(t, r.lost, "the loss"), redislock.ErrLockLost)
		}
		if terms < 30 || terms > 61 {
			t.Errorf("it has led %d times in a minute, want once a second", terms)
		}
	})
}

// Only what the first in line needs is asked while somebody leads.
func TestCandidatesCost(t *testing.T) {
	t.Parallel()
	for name, polls := range map[string]bool{"in line": false, "polling": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				start(t, candidate(w, "a", time.Hour)).elected(t)
				asked := 0
				rdb := mini.Client(t)
				rdb.AddHook(check.Around{After: func(redis.Cmder) { asked++ }})
				c := candidate(w, "b", time.Hour)
				c.Client = world.NewClient(t, rdb)
				if polls {
					c.Client = world.NewClient(t, world.Bare{Scripter: rdb})
				}
				r := start(t, c)
				time.Sleep(time.Minute)
				r.stop()
				check.Is(t, next(t, r.ended, "the end of Run"), context.Canceled)
				t.Logf("%s: %d commands in a minute", name, asked)
				if most := map[bool]int{false: 30, true: 130}[polls]; asked > most {
					t.Errorf("it has sent %d commands in a minute, want %d at most", asked, most)
				}
			})
		})
	}
}

var _ election.Client = (*redislock.Client)(nil)
