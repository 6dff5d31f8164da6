package redislockgocron_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/redislockgocron"
)

// gocron: "it is expected that the locker implementation handles time splay between schedulers", and "for all jobs, the
// implementation is still vulnerable to clockskew".
func TestLockerOneRunPerTick(t *testing.T) {
	t.Parallel()
	clocks := []time.Duration{0, 400 * time.Millisecond, -700 * time.Millisecond}
	far := []time.Duration{0, 25 * time.Second, -3 * time.Second}
	for name, test := range map[string]struct {
		clocks []time.Duration
		hold   time.Duration
		work   time.Duration
		times  int
	}{
		"quick job":                            {clocks, 30 * time.Second, 0, 1},
		"job longer than the clocks differ":    {clocks, 30 * time.Second, 5 * time.Second, 1},
		"job longer than HoldAtLeast":          {clocks, 30 * time.Second, 45 * time.Second, 1},
		"clocks far apart":                     {far, 30 * time.Second, 0, 1},
		"HoldAtLeast just enough":              {clocks, 1200 * time.Millisecond, 0, 1},
		"HoldAtLeast shorter than clocks":      {far, 10 * time.Second, 0, 2}, // two of them are 3 s apart
		"no HoldAtLeast":                       {clocks, 0, 0, 3},
		"no HoldAtLeast, but a job of a while": {clocks, 0, 5 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inPlant(t, func(t *testing.T, p *plant) {
				pass(30 * time.Second)
				for i, ahead := range test.clocks {
					locker := p.locker(t, 10*time.Second, &redislock.Options{HoldAtLeast: test.hold})
					m := p.machine(t, string(rune('a'+i)), ahead, gocron.WithDistributedLocker(locker))
					m.everyMinute(t, test.work)
					m.Start()
				}
				pass(20 * time.Minute)
				p.log.wantEach(t, "00:01", 20, test.times)
				if test.times == 1 { // "This may result in a single scheduler instance running the majority of the jobs."
					wantRuns(t, p, "b", 20)
				}
			})
		})
	}
}

// gocron: "If you are using duration based jobs (DurationJob), you can utilize the JobOption WithStartAt to set a start time
// for the job to the nearest time rounded to your duration", and what happens without that.
func TestLockerDurationJob(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		round bool
		hold  time.Duration
		times int
	}{
		"rounded starts, half of the interval":  {true, 30 * time.Second, 1},
		"any starts, nearly the interval":       {false, 55 * time.Second, 1},
		"any starts, a quarter of the interval": {false, 15 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inPlant(t, func(t *testing.T, p *plant) {
				for i := range 2 {
					locker := p.locker(t, 10*time.Second, &redislock.Options{HoldAtLeast: test.hold})
					m := p.machine(t, string(rune('a'+i)), 0, gocron.WithDistributedLocker(locker))
					var opts []gocron.JobOption
					if test.round {
						next := time.Now().Add(30 * time.Second).Round(time.Minute)
						opts = append(opts, gocron.WithStartAt(gocron.WithStartDateTime(next)))
					}
					m.job(t, gocron.DurationJob(time.Minute), 0, opts...)
					m.Start()
					pass(40 * time.Second) // the next machine is started later
				}
				pass(10*time.Minute + 5*time.Second)
				ticks := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) / time.Minute
				if all, _ := p.log.count(); all/test.times < int(ticks)-1 || all/test.times > int(ticks)+1 {
					t.Errorf("got %d runs, want %d in each of some %d minutes", all, test.times, ticks)
				}
			})
		})
	}
}

// gocron: "The lock is held for the duration of the job's run", also if that is longer than the ttl and the time between
// two ticks. The ticks meanwhile are skipped, here and elsewhere.
func TestLockerHoldsForTheRun(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		var errs refusals
		machines := make([]*machine, 2)
		for i := range machines {
			locker := p.locker(t, 10*time.Second, &redislock.Options{HoldAtLeast: 30 * time.Second})
			machines[i] = p.machine(t, string(rune('a'+i)), time.Duration(i)*time.Second, gocron.WithDistributedLocker(locker))
			machines[i].everyMinute(t, 150*time.Second, errs.listen())
			machines[i].Start()
		}
		pass(30*time.Minute + 30*time.Second)
		all, most := p.log.count()
		if most != 1 {
			t.Errorf("got %d runs at once, want 1", most)
		}
		if all != 10 { // each is under way at two more ticks
			t.Errorf("got %d runs, want 10", all)
		}
		skips := machines[0].skips.count() + machines[1].skips.count()
		if want := 2*30 - all; skips != want || len(errs.list()) != want {
			t.Errorf("got %d skips and %d refusals, want %d", skips, len(errs.list()), want)
		}
	})
}

// gocron: "if an error is returned by lock, the job will not be scheduled", and AfterLockError "is used to when the
// distributed locker returns an error".
func TestLockerRefusal(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		holder := p.client(t)
		lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), []string{"gocron:report"}, time.Hour,
			&redislock.Options{Metadata: "somebody"}))
		var errs refusals
		before := 0
		m := p.machine(t, "a", 0, gocron.WithDistributedLocker(p.locker(t, 10*time.Second, nil)))
		m.everyMinute(t, 0, gocron.WithEventListeners(gocron.BeforeJobRuns(func(uuid.UUID, string) { before++ })), errs.listen())
		m.Start()
		pass(3*time.Minute + 30*time.Second)
		if all, _ := p.log.count(); all != 0 || before != 0 || m.skips.count() != 3 {
			t.Errorf("got %d runs, %d about to run, %d skips, want 0, 0, 3", all, before, m.skips.count())
		}
		for _, err := range errs.list() {
			conflict, ok := errors.AsType[*redislock.ConflictError](err)
			if !ok || !errors.Is(err, redislock.ErrNotObtained) || conflict.Metadata != "somebody" {
				t.Errorf("got %v, want a refusal by somebody", err)
			}
		}
		if n := len(errs.list()); n != 3 {
			t.Errorf("got %d refusals, want 3", n)
		}
		check.NoError(t, lock.Release(t.Context())) // the next tick is run
		pass(time.Minute)
		if all, _ := p.log.count(); all != 1 {
			t.Errorf("got %d runs of a free tick, want 1", all)
		}
	})
}

func namedTask() {}

// gocron: "The lock key passed is the job's name - which, if not set, defaults to the go function's name".
func TestLockerKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100)
	for name, test := range map[string]struct {
		task func()
		name string
		opts []redislockgocron.LockerOption
		want string
		call string // in events
	}{
		"name":          {func() {}, "report", nil, "gocron:report", "report"},
		"function":      {namedTask, "", nil, "gocron:github.com/seed-14de3678/redislock/redislockgocron_test.namedTask", ""},
		"key of others": {func() {}, "report", []redislockgocron.LockerOption{redislockgocron.WithKey(strings.ToUpper)}, "REPORT", "report"},
		"long name":     {func() {}, long + "x", nil, "gocron:" + long + "x", strings.Repeat("é", 64)},
		"odd name":      {func() {}, "x" + long, nil, "gocron:x" + long, "x" + strings.Repeat("é", 63)},
	} {
		t.Run(name, func(t *testing.T) {
			inPlant(t, func(t *testing.T, p *plant) {
				var got []redislock.Event
				client := p.client(t, redislock.WithHooks(redislock.Hooks{
					Obtained: func(_ context.Context, e redislock.Event) { got = append(got, e) },
				}))
				locker := check.Must[*redislockgocron.Locker](t)(redislockgocron.NewLocker(client, time.Minute, nil, test.opts...))
				m := p.machine(t, "a", 0, gocron.WithDistributedLocker(locker))
				var opts []gocron.JobOption
				if test.name != "" {
					opts = append(opts, gocron.WithName(test.name))
				}
				check.Must[gocron.Job](t)(m.NewJob(gocron.CronJob("* * * * *", false), gocron.NewTask(test.task), opts...))
				m.Start()
				pass(90 * time.Second)
				if len(got) != 1 || !slices.Equal(got[0].Keys, []string{test.want}) {
					t.Fatalf("got %+v, want one lock of %q", got, test.want)
				}
				if want := cmp.Or(test.call, strings.TrimPrefix(test.want, "gocron:")); got[0].Name != want {
					t.Errorf("events call it %q, want %q", got[0].Name, want)
				}
			})
		})
	}
}

// Jobs whose functions are made by the same function, and which have no names, are one job for a Locker.
func TestLockerKeyOfClosures(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		ran := make(chan int, 100)
		task := func(n int) func() { return func() { ran <- n } }
		m := p.machine(t, "a", 0, gocron.WithDistributedLocker(p.locker(t, time.Minute, &redislock.Options{HoldAtLeast: 30 * time.Second})))
		for n := range 2 {
			check.Must[gocron.Job](t)(m.NewJob(gocron.CronJob("* * * * *", false), gocron.NewTask(task(n))))
		}
		m.Start()
		pass(10*time.Minute + 30*time.Second)
		if len(ran) != 10 {
			t.Errorf("got %d runs, want 10: one of the two jobs in each tick", len(ran))
		}
	})
}

// gocron: "Locker can be at job or scheduler, if it is defined both at job and scheduler then locker of job will take
// precedence", and "To disable this global locker for specific jobs, see WithDisabledDistributedJobLocker".
func TestLockerOfJob(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		option func(own *redislockgocron.Locker) gocron.JobOption
		times  int
		free   string // a key that nobody takes
	}{
		"of the job":            {func(own *redislockgocron.Locker) gocron.JobOption { return gocron.WithDistributedJobLocker(own) }, 1, "gocron:report"},
		"disabled":              {func(*redislockgocron.Locker) gocron.JobOption { return gocron.WithDisabledDistributedJobLocker(true) }, 2, "gocron:report"},
		"of the scheduler only": {func(*redislockgocron.Locker) gocron.JobOption { return gocron.WithTags() }, 1, "own:report"},
	} {
		t.Run(name, func(t *testing.T) {
			inPlant(t, func(t *testing.T, p *plant) {
				opt := &redislock.Options{HoldAtLeast: 40 * time.Second}
				for i := range 2 {
					own := p.locker(t, 10*time.Second, opt, redislockgocron.WithKey(func(job string) string { return "own:" + job }))
					m := p.machine(t, string(rune('a'+i)), 0, gocron.WithDistributedLocker(p.locker(t, 10*time.Second, opt)))
					m.everyMinute(t, 0, test.option(own))
					m.Start()
				}
				pass(3*time.Minute + 30*time.Second)
				p.log.wantEach(t, "00:01", 3, test.times)
				if p.mini.Miniredis().Exists(test.free) {
					t.Errorf("%s is locked", test.free)
				}
			})
		})
	}
}

// Different jobs are run by different machines at the same time.
func TestLockerOfOtherJobs(t *testing.T) {
	inPlant(t, func(t *testing.T, p *plant) {
		for i := range 2 {
			m := p.machine(t, string(rune('a'+i)), 0, gocron.WithDistributedLocker(p.locker(t, 10*time.Second,
				&redislock.Options{HoldAtLeast: 40 * time.Second})))
			for _, name := range []string{"one", "two", "three"} {
				m.everyMinute(t, 20*time.Second, gocron.WithName(name))
			}
			m.Start()
		}
		pass(5*time.Minute + 30*time.Second)
		p.log.wantEach(t, "00:01", 5, 3)
		if _, most := p.log.count(); most != 3 {
			t.Errorf("got %d runs at once, want 3", most)
		}
	})
}

// RunNow, a job that is to be run once, modes that limit how many run, and limited runs: gocron takes the lock for each run.
func TestLockerEveryWayToRun(t *testing.T) {
	t.Parallel()
	opt := &redislock.Options{HoldAtLeast: 40 * time.Second}
	two := func(t *testing.T, p *plant, add func(m *machine), opts ...gocron.SchedulerOption) (machines []*machine) {
		t.Helper()
		for i := range 2 {
			m := p.machine(t, string(rune('a'+i)), time.Duration(i)*time.Second,
				append(opts, gocron.WithDistributedLocker(p.locker(t, 10*time.Second, opt)))...)
			add(m)
			m.Start()
			machines = append(machines, m)
		}
		return machines
	}
	t.Run("RunNow", func(t *testing.T) {
		inPlant(t, func(t *testing.T, p *plant) {
			var jobs []gocron.Job
			two(t, p, func(m *machine) { jobs = append(jobs, m.job(t, gocron.DurationJob(time.Hour), 0)) })
			for _, job := range jobs {
				check.NoError(t, job.RunNow())
			}
			pass(time.Minute)
			p.log.wantEach(t, "00:00", 1, 1)
		})
	})
	t.Run("a job for once", func(t *testing.T) {
		inPlant(t, func(t *testing.T, p *plant) {
			at := time.Now().Add(5 * time.Minute)
			two(t, p, func(m *machine) { m.job(t, gocron.OneTimeJob(gocron.OneTimeJobStartDateTime(at)), 0) })
			pass(time.Hour)
			p.log.wantEach(t, "00:05", 1, 1)
		})
	})
	t.Run("one after the other in a scheduler", func(t *testing.T) {
		inPlant(t, func(t *testing.T, p *plant) {
			two(t, p, func(m *machine) { m.everyMinute(t, 0, gocron.WithSingletonMode(gocron.LimitModeReschedule)) })
			pass(3*time.Minute + 30*time.Second)
			p.log.wantEach(t, "00:01", 3, 1)
		})
	})
	t.Run("some at once in a scheduler", func(t *testing.T) {
		inPlant(t, func(t *testing.T, p *plant) {
			two(t, p, func(m *machine) { m.everyMinute(t, 0) }, gocron.WithLimitConcurrentJobs(2, gocron.LimitModeReschedule))
			pass(3*time.Minute + 30*time.Second)
			p.log.wantEach(t, "00:01", 3, 1)
		})
	})
	t.Run("limited runs count on each machine", func(t *testing.T) {
		inPlant(t, func(t *testing.T, p *plant) {
			two(t, p, func(m *machine) { m.everyMinute(t, 0, gocron.WithLimitedRuns(2)) })
			pass(10 * time.Minute)
			p.log.wantEach(t, "00:01", 4, 1)
		})
	})
	t.Run("stopped and started", func(t *testing.T) {
		inPlant(t, func(t *testing.T, p *plant) {
			machines := two(t, p, func(m *machine) { m.everyMinute(t, 0) })
			pass(90 * time.Second)
			for _, m := range machines {
				check.NoError(t, m.StopJobs())
				m.Start()
			}
			pass(2 * time.Minute)
			p.log.wantEach(t, "00:01", 3, 1)
		})
	})
}
