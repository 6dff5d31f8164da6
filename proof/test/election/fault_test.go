package election_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A server that refuses for the moment keeps nobody from being a candidate, and is not asked all the time.
func TestRunServerRefuses(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{
		"LOADING":    "LOADING Redis is loading the dataset in memory",
		"READONLY":   "READONLY You can't write against a read only replica.",
		"NOREPLICAS": "NOREPLICAS Not enough good replicas to write.",
		"MASTERDOWN": "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"clients":    "ERR max number of clients reached",
		"OOM":        "OOM command not allowed when used memory > 'maxmemory'.",
		"MISCONF":    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		"BUSY":       "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				var mu sync.Mutex
				refuses, asked := true, 0
				w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
					mu.Lock()
					defer mu.Unlock()
					if !refuses || !strings.HasPrefix(cmd.Name(), "eval") {
						return false
					}
					asked++
					cmd.SetErr(world.Refusal(refusal))
					return true
				}})
				var log bytes.Buffer
				c := candidate(w, "a", 10*time.Second)
				c.Logger = slog.New(slog.NewTextHandler(&log, nil))
				r := start(t, c)
				time.Sleep(time.Minute)
				mu.Lock()
				if n := strings.Count(log.String(), "candidate asks again"); n != 1 || !strings.Contains(log.String(), refusal[:5]) {
					t.Errorf("got log %q, want the first refusal", log.String())
				}
				// An Obtain sends each attempt again for a second or so, and there is one a second at most.
				if most := 15 * 60; asked < 30 || asked > most {
					t.Errorf("it has asked %d times in a minute, want 30 to %d", asked, most)
				}
				refuses = false
				mu.Unlock()
				since := time.Now()
				l := r.elected(t)
				if took := l.at.Sub(since); took > 2*time.Second {
					t.Errorf("it was elected %v after the server was ready", took)
				}
			})
		})
	}
}

// What does not pass ends Run.
func TestRunServerRefusesForGood(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{
		"NOPERM this user has no permissions to run the 'evalsha' command", "NOAUTH Authentication required.",
		"ERR unknown command 'EVALSHA'", "FOREIGNFENCE 1 list",
	} {
		t.Run(refusal[:6], func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
					cmd.SetErr(world.Refusal(refusal))
					return strings.HasPrefix(cmd.Name(), "eval")
				}})
				err := next(t, start(t, candidate(w, "a", time.Second)).ended, "the end of Run")
				if err == nil || !strings.HasPrefix(err.Error(), "election: redislock: obtain") {
					t.Errorf("got %v, want the refusal", err)
				}
			})
		})
	}
}

// A user that may not do what an election needs is told so, by a real server.
func TestRunWithoutRights(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "k")
	c := &election.Candidate{Client: world.NewClient(t, g.RDB), Key: "k", TTL: time.Second}
	g.Set(t, "-hset")
	err := next(t, start(t, c).ended, "the end of Run")
	if err == nil || !strings.Contains(err.Error(), "can't run this command") && !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("got %v, want that the user may not", err)
	}
	g.Set(t, "+hset")
	start(t, c).elected(t).finish <- nil
}

// A server that is away is waited for, from before the first request and while somebody leads.
func TestRunServerAway(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	w := world.New(t, s)
	s.Kill()
	r := start(t, candidate(w, "a", time.Second))
	time.Sleep(200 * time.Millisecond)
	s.Restart()
	first := r.elected(t)
	s.Kill()
	check.Is(t, next(t, r.lost, "the loss"), redislock.ErrLockLost)
	s.Restart()
	if second := r.elected(t); second.id == first.id {
		t.Errorf("it leads again under the id %s", second.id)
	}
}

// A real server that cannot have it on enough replicas elects nobody.
func TestRunReplicasMissing(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis), redislock.WithReplicas(1))
	r := start(t, candidate(w, "a", time.Second))
	if _, elected := check.Receive(r.leads, 500*time.Millisecond); elected {
		t.Error("it was elected without a replica")
	}
	r.stop()
	check.Is(t, next(t, r.ended, "the end of Run"), context.Canceled)
}

// The end of ctx is told, also if the server refuses at the same moment.
func TestRunRefusedAsContextEnds(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Miniredis))
	ctx, cancel := context.WithCancelCause(t.Context())
	const refusal = "NOPERM this user has no permissions to run the 'evalsha' command"
	w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
		cancel(errDone)
		cmd.SetErr(world.Refusal(refusal))
		return strings.HasPrefix(cmd.Name(), "eval")
	}})
	err := candidate(w, "a", time.Second).Run(ctx, func(context.Context) error { return nil })
	check.Is(t, err, errDone)
}

// A closed Client is none to go on with.
func TestRunClosed(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Miniredis))
	r := start(t, candidate(w, "a", world.Long))
	r.elected(t)
	w.Client.Close()
	check.Is(t, next(t, r.lost, "the loss"), redislock.ErrLockLost, redis.ErrClosed)
	check.Is(t, next(t, r.ended, "the end of Run"), redis.ErrClosed)
}

// A resignation that is not confirmed is told, and is not taken for the error of the function.
func TestRunResignationUnconfirmed(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		var mu sync.Mutex
		refuses := false
		w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			mu.Lock()
			defer mu.Unlock()
			if !refuses || !strings.HasPrefix(cmd.Name(), "eval") {
				return false
			}
			cmd.SetErr(world.Refusal("LOADING Redis is loading the dataset in memory"))
			return true
		}})
		var log bytes.Buffer
		c := candidate(w, "a", 10*time.Second)
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		r := start(t, c)
		l := r.elected(t)
		mu.Lock()
		refuses = true
		mu.Unlock()
		l.finish <- errDone
		if err := next(t, r.ended, "the end of Run"); err != errDone { //nolint:errorlint // it is unchanged
			t.Errorf("got %v, want the error of the function", err)
		}
		if !strings.Contains(log.String(), "resignation not confirmed") {
			t.Errorf("got log %q, want the resignation", log.String())
		}
		mu.Lock()
		refuses = false
		mu.Unlock()
	})
}

// A strategy that ends begins anew, and one that never waits is asked no more than once in longestPause.
func TestRunStrategyEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		strategy redislock.RetryStrategy
		most     time.Duration // until it is elected
	}{
		"at once": {redislock.NoRetry(), time.Second},
		"later":   {redislock.LimitRetry(redislock.LinearBackoff(100*time.Millisecond), 2), 100 * time.Millisecond},
		"never":   {func() redislock.BackOff { return &backoff.ZeroBackOff{} }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				c := candidate(w, "b", time.Minute)
				c.Client, c.RetryStrategy = bareClient(t, w), test.strategy
				holder := start(t, candidate(w, "a", time.Minute)).elected(t)
				r := start(t, c)
				time.Sleep(10 * time.Second)
				holder.finish <- nil
				since := time.Now()
				if took := r.elected(t).at.Sub(since); took > test.most {
					t.Errorf("it was elected after %v, want %v at most", took, test.most)
				}
			})
		})
	}
}

// bareClient makes a Client that cannot stand in line.
func bareClient(t *testing.T, w *world.World) *redislock.Client {
	t.Helper()
	return world.NewClient(t, world.Bare{Scripter: w.RDB})
}
