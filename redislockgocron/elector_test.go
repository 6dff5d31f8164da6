package redislockgocron_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/redislockgocron"
)

// elector makes an Elector with a Client of its own.
func (p *plant) elector(t *testing.T, name string) *redislockgocron.Elector {
	t.Helper()
	return electorOf(t, election.Candidate{Client: p.client(t), Metadata: name})
}

// electorOf makes an Elector of a candidate that says little.
func electorOf(t *testing.T, c election.Candidate) *redislockgocron.Elector {
	t.Helper()
	c.Key, c.TTL, c.Logger = "leader", lease, slog.New(slog.DiscardHandler)
	e := check.Must[*redislockgocron.Elector](t)(redislockgocron.NewElector(c))
	t.Cleanup(e.Close)
	return e
}

// wantNotLeader checks that an Elector does not lead, and says why.
func wantNotLeader(t *testing.T, e *redislockgocron.Elector, why string) {
	t.Helper()
	if err := e.IsLeader(t.Context()); !errors.Is(err, redislockgocron.ErrNotLeader) || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want that it does not lead: %s", err, why)
	}
}

// gocron: "Only the leader runs jobs, while non-leaders wait and continue to check if a new leader has been elected", and
// "If the leader goes down, a new leader will be elected".
func TestElectorRunsOnTheLeader(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		pass(minute / 2)
		var errs refusals
		electors := map[string]*redislockgocron.Elector{}
		machines := map[string]*machine{}
		for i, name := range []string{"a", "b", "c"} {
			electors[name] = p.elector(t, name)
			pass(0) // they are candidates in this order
			machines[name] = p.machine(t, name, time.Duration(i-1)*time.Second, gocron.WithDistributedElector(electors[name]))
			machines[name].everyMinute(t, time.Second, errs.listen())
			machines[name].Start()
		}
		pass(5 * minute)
		wantRuns(t, p, "a", 5)
		check.NoError(t, machines["a"].Shutdown())
		electors["a"].Close()
		pass(0)
		check.NoError(t, electors["b"].IsLeader(t.Context()))
		pass(5 * minute)
		wantRuns(t, p, "b", 5)
		p.log.wantEach(t, "00:01", 10, 1)
		if got := machines["c"].skips.count(); got != 10 || len(errs.list()) != 0 {
			t.Errorf("got %d skips and the errors %v, want 10, and that AfterLockError is for Lockers alone", got, errs.list())
		}
	})
}

func wantRuns(t *testing.T, p *plant, machine string, want int) {
	t.Helper()
	if got := p.log.byMachine(); got[machine] != want {
		t.Errorf("got the runs %v, want %d by %s", got, want, machine)
	}
}

// A scheduler with both does not ask its Locker.
func TestElectorGoesBeforeLocker(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		holder := p.client(t)
		check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), []string{"gocron:report"}, time.Hour, nil))
		locker := p.locker(t, lease, nil)
		m := p.machine(t, "a", 0, gocron.WithDistributedElector(p.elector(t, "a")), gocron.WithDistributedLocker(locker))
		m.everyMinute(t, 0, gocron.WithDistributedJobLocker(locker))
		m.Start()
		pass(3*minute + time.Second)
		p.log.wantEach(t, "00:01", 3, 1)
	})
}

// IsLeader is nil from when the election is decided until the leadership ends, and says why it is not.
func TestIsLeader(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		p.mini.Miniredis().SetError("LOADING")
		first := p.elector(t, "first")
		wantNotLeader(t, first, "the election goes on")
		p.mini.Miniredis().SetError("")
		pass(2 * time.Second)
		check.NoError(t, first.IsLeader(t.Context()))
		second := p.elector(t, "second")
		pass(0)
		wantNotLeader(t, second, "somebody else leads")
		over, cancel := context.WithCancelCause(t.Context())
		cancel(errTask)
		check.Is(t, first.IsLeader(over), errTask)
		first.Close()
		first.Close()
		wantNotLeader(t, first, "the Elector is closed")
		pass(0)
		check.NoError(t, second.IsLeader(t.Context()))
		second.Close()
		if p.mini.Miniredis().Exists("leader") {
			t.Error("the last one has not resigned")
		}
	})
}

// What ends the leadership without a resignation.
func TestElectorLoss(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose func(t *testing.T, p *plant)
		late time.Duration // after which the leader knows of it at the latest
	}{
		"broken": {func(t *testing.T, p *plant) {
			t.Helper()
			check.Must[[]redislock.Holder](t)(p.client(t).Break(t.Context(), []string{"leader"}, ""))
		}, lease / 3},
		"Redis does not do more": {func(_ *testing.T, p *plant) { p.mini.Miniredis().SetError("LOADING") }, lease},
	} {
		t.Run(name, func(t *testing.T) {
			inPlant(t, func(t *testing.T, p *plant) {
				e := p.elector(t, "a")
				pass(time.Second)
				check.NoError(t, e.IsLeader(t.Context()))
				work, cancel := e.Context(t.Context())
				defer cancel()
				test.lose(t, p)
				pass(test.late)
				check.Is(t, context.Cause(work), redislock.ErrLockLost)
				if name != "broken" { // where it leads again already
					wantNotLeader(t, e, "")
				}
				p.mini.Miniredis().SetError("")
				pass(2 * lease)
				check.NoError(t, e.IsLeader(t.Context()))
			})
		})
	}
}

// A leader that is told of its loss runs no more jobs, although its lease is not over.
func TestElectorBroken(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		first := electorOf(t, election.Candidate{Client: p.client(t, redislock.WithBreakNotices())})
		pass(0)
		check.NoError(t, first.IsLeader(t.Context()))
		second := p.elector(t, "second")
		pass(time.Second)
		breaker := p.client(t, redislock.WithBreakNotices())
		check.Must[[]redislock.Holder](t)(breaker.Break(t.Context(), []string{"leader"}, "it hangs"))
		pass(0)
		check.Is(t, first.IsLeader(t.Context()), redislockgocron.ErrNotLeader)
		check.NoError(t, second.IsLeader(t.Context()))
	})
}

// Jobs find the term in the context, which ends with it, or when they are done.
func TestElectorContext(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		e, other := p.elector(t, "a"), p.elector(t, "b")
		pass(0)
		if e.IsLeader(t.Context()) != nil {
			e, other = other, e
		}
		none, cancel := other.Context(t.Context())
		cancel()
		check.Is(t, context.Cause(none), redislockgocron.ErrNotLeader)
		done, cancel := e.Context(t.Context())
		check.NoError(t, done.Err())
		cancel()
		check.Is(t, done.Err(), context.Canceled)
		work, cancel := e.Context(t.Context())
		defer cancel()
		key := check.Must[[]redislock.KeyState](t)(p.client(t).Inspect(t.Context(), []string{"leader"}))[0]
		number, term := redislock.FromContext(work).Fence(), election.TermID(work)
		if number != key.Fence || number == 0 || term != key.Holders[0].Caller || term == "" {
			t.Errorf("got number %d of term %q, want those of %v", number, term, key)
		}
		e.Close()
		check.Is(t, work.Err(), context.Canceled)
		pass(0)
		check.NoError(t, other.IsLeader(t.Context()))
	})
}

// A candidacy that cannot go on says why, and begins anew once somebody may have mended that.
func TestElectorBeginsAnew(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		check.NoError(t, p.mini.Miniredis().Set("leader", "a value without a ttl"))
		e := p.elector(t, "a")
		pass(minute)
		err := e.IsLeader(t.Context())
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || conflict.Mode != redislock.ModeForeign {
			t.Errorf("got %v, want that the key holds something else", err)
		}
		wantNotLeader(t, e, "")
		p.mini.Miniredis().Del("leader")
		pass(lease)
		check.NoError(t, e.IsLeader(t.Context()))
	})
}

// A process that was stopped beyond its lease may ask before its context has ended.
func TestIsLeaderLooksAtTheDeadline(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		stale := p.client(t).Attach([]string{"leader"}, "somebody") // it has no Deadline, and a context
		e := electorOf(t, election.Candidate{Client: terms{stale}})
		pass(0)
		wantNotLeader(t, e, "the lease may be over")
		work, cancel := e.Context(t.Context())
		defer cancel()
		check.Is(t, context.Cause(work), redislockgocron.ErrNotLeader)
	})
}

// A Client whose terms end at once is not asked without end.
func TestElectorTermsEndAtOnce(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		over := p.client(t).Attach([]string{"leader"}, "somebody")
		check.Is(t, over.Release(t.Context()), redislock.ErrLockNotHeld)
		e := electorOf(t, election.Candidate{Client: terms{over}})
		pass(time.Second)
		check.Is(t, e.IsLeader(t.Context()), redislockgocron.ErrNotLeader)
	})
}

// terms is a Client whose lock is there already.
type terms struct{ lock *redislock.Lock }

func (c terms) With(ctx context.Context, _ []string, _ time.Duration, _ *redislock.Options, fn func(context.Context) error) error {
	return fn(c.lock.Context(ctx))
}

// The leader's clock is ahead, and it resigns when it has run a tick. For the next leader the tick is still to come. It
// runs it again, unless there is a Locker as well.
func TestElectorTickOfTwoLeaders(t *testing.T) {
	t.Parallel()
	for name, times := range map[string]int{"Elector alone": 2, "and a Locker": 1} {
		t.Run(name, func(t *testing.T) {
			inPlant(t, func(t *testing.T, p *plant) {
				pass(minute / 2)
				var electors []*redislockgocron.Elector
				for i, ahead := range []time.Duration{5 * time.Second, 0} {
					e := p.elector(t, "")
					pass(0)
					option := gocron.WithDistributedElector(e)
					if times == 1 {
						option = gocron.WithDistributedLocker(leaders{e, p.locker(t, lease, &redislock.Options{HoldAtLeast: minute / 2})})
					}
					m := p.machine(t, string(rune('a'+i)), ahead, option)
					m.everyMinute(t, 0)
					m.Start()
					electors = append(electors, e)
				}
				pass(minute/2 - 2*time.Second)
				wantRuns(t, p, "a", 1)
				electors[0].Close()
				pass(minute / 4)
				p.log.wantEach(t, "00:01", 1, times)
				pass(minute)
				wantRuns(t, p, "b", times)
			})
		})
	}
}
