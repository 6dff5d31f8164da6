package redislockgocron_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/redislockgocron"
)

// A plant is some machines in a bubble of testing/synctest, whose server is in memory. Each of them has a scheduler.
type plant struct {
	mini *redistest.Mini
	log  runs
}

// inPlant runs fn in a bubble.
func inPlant(t *testing.T, fn func(t *testing.T, p *plant)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { fn(t, &plant{mini: redistest.PipeMini(t)}) })
}

// client makes a Client that ends with the test.
func (p *plant) client(t *testing.T, opts ...redislock.ClientOption) *redislock.Client {
	t.Helper()
	client := redislock.New(p.mini.Client(t), opts...)
	t.Cleanup(client.Close)
	return client
}

// locker makes a Locker with a Client of its own.
func (p *plant) locker(t *testing.T, ttl time.Duration, opt *redislock.Options, opts ...redislockgocron.LockerOption) *redislockgocron.Locker {
	t.Helper()
	return check.Must[*redislockgocron.Locker](t)(redislockgocron.NewLocker(p.client(t), ttl, opt, opts...))
}

// A machine is one scheduler, with a clock of its own.
type machine struct {
	gocron.Scheduler
	name  string
	ahead time.Duration // its clock
	plant *plant
	skips tally
}

// machine makes one that ends with the test.
func (p *plant) machine(t *testing.T, name string, ahead time.Duration, opts ...gocron.SchedulerOption) *machine {
	t.Helper()
	m := &machine{name: name, ahead: ahead, plant: p}
	opts = append(opts, gocron.WithClock(aheadClock{clockwork.NewRealClock(), ahead}), gocron.WithMonitor(&m.skips))
	m.Scheduler = check.Must[gocron.Scheduler](t)(gocron.NewScheduler(opts...))
	t.Cleanup(func() { _ = m.Shutdown() })
	return m
}

// everyMinute adds a job to the machine, which works for so long at each full minute of its clock.
func (m *machine) everyMinute(t *testing.T, work time.Duration, opts ...gocron.JobOption) {
	t.Helper()
	m.job(t, gocron.CronJob("* * * * *", false), work, opts...)
}

// job adds a job to the machine, whose runs are noted.
func (m *machine) job(t *testing.T, when gocron.JobDefinition, work time.Duration, opts ...gocron.JobOption) gocron.Job {
	t.Helper()
	return m.task(t, when, func(ctx context.Context) error {
		end := m.plant.log.begin(m.name, time.Now().Add(m.ahead))
		defer end()
		select {
		case <-time.After(work):
		case <-ctx.Done():
		}
		return nil
	}, opts...)
}

// task adds a job.
func (m *machine) task(t *testing.T, when gocron.JobDefinition, task any, opts ...gocron.JobOption) gocron.Job {
	t.Helper()
	opts = append([]gocron.JobOption{gocron.WithName("report")}, opts...)
	return check.Must[gocron.Job](t)(m.NewJob(when, gocron.NewTask(task), opts...))
}

// aheadClock is a clock that differs from the true one.
type aheadClock struct {
	clockwork.Clock
	by time.Duration
}

func (c aheadClock) Now() time.Time                  { return c.Clock.Now().Add(c.by) }
func (c aheadClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c aheadClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// runs are what jobs have done.
type runs struct {
	mu   sync.Mutex
	all  []oneRun
	now  int // that are under way
	most int // that were under way at once
}

type oneRun struct {
	machine string
	tick    string // the full minute of the machine's clock
}

func (r *runs) begin(machine string, now time.Time) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, oneRun{machine, now.Round(time.Minute).UTC().Format("15:04")})
	r.now++
	r.most = max(r.most, r.now)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now--
	}
}

// by counts the runs of each tick, or of each machine.
func (r *runs) by(what func(oneRun) string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[string]int{}
	for _, run := range r.all {
		counts[what(run)]++
	}
	return counts
}

func (r *runs) byTick() map[string]int { return r.by(func(one oneRun) string { return one.tick }) }
func (r *runs) byMachine() map[string]int {
	return r.by(func(one oneRun) string { return one.machine })
}

// count returns how many runs there were, and how many of them at once at most.
func (r *runs) count() (all, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all), r.most
}

// wantEach checks that each of so many ticks from the first on was run so often.
func (r *runs) wantEach(t *testing.T, first string, ticks, times int) {
	t.Helper()
	got := r.byTick()
	at := check.Must[time.Time](t)(time.Parse("15:04", first))
	var bad []string
	for range ticks {
		tick := at.Format("15:04")
		if n := got[tick]; n != times {
			bad = append(bad, fmt.Sprintf("%s: %d", tick, n))
		}
		delete(got, tick)
		at = at.Add(time.Minute)
	}
	for tick, n := range got {
		bad = append(bad, fmt.Sprintf("%s besides: %d", tick, n))
	}
	slices.Sort(bad)
	if len(bad) > 0 {
		t.Errorf("want %d runs in each of %d ticks, got %s", times, ticks, strings.Join(bad, ", "))
	}
}

// tally is a [gocron.Monitor] that counts the ticks that are skipped.
type tally struct {
	mu    sync.Mutex
	skips int
}

func (c *tally) IncrementJob(_ uuid.UUID, _ string, _ []string, status gocron.JobStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if status == gocron.Skip {
		c.skips++
	}
}

func (c *tally) RecordJobTiming(_, _ time.Time, _ uuid.UUID, _ string, _ []string) {}

func (c *tally) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skips
}

// refusals are the errors that gocron was given instead of a lock.
type refusals struct {
	mu  sync.Mutex
	all []error
}

// listen is for the jobs whose errors are meant.
func (r *refusals) listen() gocron.JobOption {
	return gocron.WithEventListeners(gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, err)
	}))
}

func (r *refusals) list() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// pass lets time pass in a bubble, and everything happen that is due.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
