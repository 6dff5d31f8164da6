package redislockgocron_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/redislockgocron"
)

const (
	minute = time.Minute
	lease  = 12 * time.Second
)

// A told is what hooks were told of one kind of event.
type told []redislock.Event

func (e *told) hook(_ context.Context, event redislock.Event) { *e = append(*e, event) }

// While a job runs it loses its lock: by a Break, or because Redis does not answer any more.
func TestLoss(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose func(t *testing.T, p *plant)
		opts []redislock.ClientOption
		late time.Duration // after which the job knows of it at the latest
		is   error
	}{
		"broken":                 {breakIt, nil, lease / 3, redislock.ErrLockLost},
		"broken, and told so":    {breakIt, []redislock.ClientOption{redislock.WithBreakNotices()}, 0, redislock.ErrBroken},
		"Redis does not do more": {func(_ *testing.T, p *plant) { p.mini.Miniredis().SetError("LOADING") }, nil, lease, redislock.ErrLockLost},
	} {
		t.Run(name, func(t *testing.T) {
			inPlant(t, func(t *testing.T, p *plant) {
				var lost, released told
				hooks := redislock.WithHooks(redislock.Hooks{Lost: lost.hook, Released: released.hook})
				client := p.client(t, append(test.opts, hooks)...)
				locker := check.Must[*redislockgocron.Locker](t)(redislockgocron.NewLocker(client, lease, nil))
				m := p.machine(t, "a", 0, gocron.WithDistributedLocker(locker))
				var ended time.Time
				var cause, own error
				m.task(t, gocron.CronJob("* * * * *", false), func(ctx context.Context) {
					work := locker.Context(ctx, "report")
					<-work.Done()
					ended, cause, own = time.Now(), context.Cause(work), ctx.Err()
				})
				m.Start()
				pass(minute + 5*time.Second) // it runs
				began := time.Now()
				test.lose(t, p)
				pass(lease)
				if late := ended.Sub(began); late < 0 || late > test.late || !errors.Is(cause, test.is) {
					t.Errorf("the job knows after %v, of %v, want %v at most, %v", late, cause, test.late, test.is)
				}
				if own != nil {
					t.Errorf("the context of gocron has ended, too: %v", own)
				}
				if len(lost) != 1 || lost[0].Name != "report" {
					t.Errorf("hooks are told of losses: %+v, want one of report", lost)
				}
				if len(released) != 1 || released[0].Err == nil || errors.Is(released[0].Err, redislock.ErrLockNotHeld) != (test.late < lease) {
					t.Errorf("hooks are told of releases: %+v, want the error that gocron drops", released)
				}
			})
		})
	}
}

func breakIt(t *testing.T, p *plant) {
	t.Helper()
	check.Must[[]redislock.Holder](t)(p.client(t, redislock.WithBreakNotices()).Break(t.Context(), []string{"gocron:report"}, "it hangs"))
}

// A run that has lost its lock, and goes on, is not joined by another one: neither has a context to work in.
func TestLossAndTheNextRun(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		locker := p.locker(t, lease, nil)
		m := p.machine(t, "a", 0, gocron.WithDistributedLocker(locker))
		goOn := make(chan struct{})
		var works []error
		m.task(t, gocron.CronJob("* * * * *", false), func(ctx context.Context) {
			work := locker.Context(ctx, "report")
			works = append(works, context.Cause(work))
			if len(works) == 1 {
				<-goOn
			}
		})
		m.Start()
		pass(minute + 5*time.Second)
		breakIt(t, p)
		pass(minute)
		if len(works) != 2 || works[0] != nil || !errors.Is(works[1], redislock.ErrLockLost) {
			t.Errorf("got %v, want one run, and one that may not work", works)
		}
		close(goOn)
		pass(minute)
		if len(works) != 3 || works[2] != nil {
			t.Errorf("got %v, want that the third run may work", works)
		}
	})
}

// Each run has a fencing number, its context ends with it, and a name that no run has is an error.
func TestLockerContext(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		locker := p.locker(t, lease, &redislock.Options{Fenced: true})
		m := p.machine(t, "a", 0, gocron.WithDistributedLocker(locker))
		var numbers []int64
		var work, wrong context.Context
		var during error
		m.task(t, gocron.CronJob("* * * * *", false), func(ctx context.Context) {
			work, wrong = locker.Context(ctx, "report"), locker.Context(ctx, "rapport") //nolint:fatcontext // looked at after the run
			numbers = append(numbers, redislock.FromContext(work).Fence())
			during = work.Err()
		})
		m.Start()
		pass(2*minute + time.Second)
		if len(numbers) != 2 || numbers[0] <= 0 || numbers[0] >= numbers[1] {
			t.Errorf("got the numbers %d, want two that grow", numbers)
		}
		if during != nil || !errors.Is(work.Err(), context.Canceled) || errors.Is(context.Cause(work), redislock.ErrLockLost) {
			t.Errorf("got %v during the run and %v after it, want that it has ended with it", during, context.Cause(work))
		}
		if cause := context.Cause(wrong); !errors.Is(cause, redislock.ErrLockNotHeld) || wrong.Err() == nil {
			t.Errorf("got %v for a name that no run has, want %v", cause, redislock.ErrLockNotHeld)
		}
	})
}

// A machine does not try for longer than it may.
func TestLockerWait(t *testing.T) {
	t.Parallel()
	relay := redistest.NewRelay(t, redistest.StartMini(t).Addr())
	client := redislock.New(relay.Client(t))
	defer client.Close()
	locker := check.Must[*redislockgocron.Locker](t)(redislockgocron.NewLocker(client, minute, &redislock.Options{Wait: 200 * time.Millisecond}))
	relay.Blackhole(true)
	watch := check.StartWatch(t)
	_, err := locker.Lock(t.Context(), "report")
	check.Is(t, err, redislock.ErrWaitOver, redislock.ErrUnknownOutcome)
	if took := watch.Took(); took > 2*time.Second { // go-redis alone waits for 20 s
		t.Errorf("it has tried for %v", took)
	}
	relay.Blackhole(false)
}

// However long a machine tries to reach Redis, it asks for a lock once: or it would make the run of another once more.
func TestLockerAsksOnce(t *testing.T) {
	t.Parallel()
	var refused redislock.Event
	client := redislock.New(redistest.StartMini(t).Client(t), redislock.WithHooks(redislock.Hooks{
		Refused: func(_ context.Context, e redislock.Event) { refused = e },
	}))
	defer client.Close()
	locker := check.Must[*redislockgocron.Locker](t)(redislockgocron.NewLocker(client, minute, &redislock.Options{Wait: 2 * time.Second}))
	lock := check.Must[gocron.Lock](t)(locker.Lock(t.Context(), "report"))
	_, err := locker.Lock(t.Context(), "report")
	check.Is(t, err, redislock.ErrNotObtained)
	if errors.Is(err, redislock.ErrWaitOver) || refused.Attempts != 1 {
		t.Errorf("there were %d attempts: %v", refused.Attempts, err)
	}
	check.NoError(t, lock.Unlock(t.Context()))
}

// Without Redis no job is run, and gocron says why. When Redis is back the next tick is run.
func TestLockerWithoutRedis(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		var errs refusals
		for _, name := range []string{"a", "b"} {
			m := p.machine(t, name, 0, gocron.WithDistributedLocker(p.locker(t, lease, &redislock.Options{HoldAtLeast: minute / 2})))
			m.everyMinute(t, 0, errs.listen())
			m.Start()
		}
		pass(minute + 10*time.Second)
		p.mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
		before := len(errs.list())
		pass(3 * minute)
		if all, _ := p.log.count(); all != 1 {
			t.Errorf("got %d runs, want that of the first minute", all)
		}
		failed := errs.list()[before:]
		for _, err := range failed {
			if errors.Is(err, redislock.ErrNotObtained) {
				t.Errorf("got %v, want an error that is not that somebody else runs it", err)
			}
		}
		if len(failed) != 2*3 {
			t.Errorf("gocron is told %d times, want 6", len(failed))
		}
		p.mini.Miniredis().SetError("")
		pass(minute)
		if all, _ := p.log.count(); all != 2 {
			t.Errorf("got %d runs, want one more", all)
		}
	})
}
