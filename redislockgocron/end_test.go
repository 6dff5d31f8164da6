package redislockgocron_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/redislockgocron"
)

// An ending is a way in which a run ends.
type ending struct {
	task   func(ctx context.Context) error
	listen []gocron.EventListener
	then   func(t *testing.T, m *machine, job gocron.Job) // while the job runs
}

func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

var errTask = errors.New("the task has failed")

var endings = map[string]ending{
	"success": {task: func(context.Context) error { return nil }},
	"error":   {task: func(context.Context) error { return errTask }},
	"panic that gocron recovers": {
		task:   func(context.Context) error { panic(errTask) },
		listen: []gocron.EventListener{gocron.AfterJobRunsWithPanic(func(uuid.UUID, string, any) {})},
	},
	"not run, because of BeforeJobRunsSkipIfBeforeFuncErrors": {
		task:   func(context.Context) error { panic("it is run") },
		listen: []gocron.EventListener{gocron.BeforeJobRunsSkipIfBeforeFuncErrors(func(uuid.UUID, string) error { return errTask })},
	},
	"removed while it runs": {
		task: untilDone,
		then: func(t *testing.T, m *machine, job gocron.Job) {
			t.Helper()
			check.NoError(t, m.RemoveJob(job.ID()))
		},
	},
	"stopped while it runs": {
		task: untilDone,
		then: func(t *testing.T, m *machine, _ gocron.Job) {
			t.Helper()
			check.NoError(t, m.StopJobs())
		},
	},
	"scheduler is shut down while it runs": {
		task: untilDone,
		then: func(t *testing.T, m *machine, _ gocron.Job) {
			t.Helper()
			check.NoError(t, m.Shutdown())
		},
	},
}

// gocron: "The lock is released after the execution of the job by the scheduler", however that ends. gocron gives Unlock
// the context of the job, which has ended in some of these cases.
func TestUnlock(t *testing.T) {
	t.Parallel()
	for name, end := range endings {
		for hold, holds := range map[string]time.Duration{"": 0, ", with HoldAtLeast": 30 * time.Second} {
			t.Run(name+hold, func(t *testing.T) {
				inPlant(t, func(t *testing.T, p *plant) {
					m := p.machine(t, "a", 0, gocron.WithDistributedLocker(p.locker(t, 10*time.Second, &redislock.Options{HoldAtLeast: holds})))
					job := m.task(t, gocron.CronJob("* * * * *", false), end.task, gocron.WithEventListeners(end.listen...))
					m.Start()
					pass(time.Minute)
					if end.then != nil {
						end.then(t, m, job)
						pass(0)
					}
					wantState(t, p.client(t), redislock.KeyState{Mode: modeFor(holds), TTL: holds})
				})
			})
		}
	}
}

func modeFor(holds time.Duration) redislock.Mode {
	if holds > 0 {
		return redislock.ModeWrite
	}
	return redislock.ModeFree
}

// wantState checks the key of the job: how it is held, and that it is left if it is held for a while.
func wantState(t *testing.T, client *redislock.Client, want redislock.KeyState) {
	t.Helper()
	got := check.Must[[]redislock.KeyState](t)(client.Inspect(t.Context(), []string{"gocron:report"}))[0]
	if got.Mode != want.Mode {
		t.Errorf("got %v, want it %s", got, want.Mode)
	}
	if want.TTL > 0 && (len(got.Holders) != 1 || !got.Holders[0].Left || got.TTL > want.TTL || got.TTL < want.TTL-time.Second) {
		t.Errorf("got %v, want it left for %v", got, want.TTL)
	}
}

// gocron waits for jobs at a Shutdown, but not for longer than WithStopTimeout. A job that goes on has its lock until it
// ends.
func TestUnlockAfterStopTimeout(t *testing.T) {
	t.Parallel()
	mini := redistest.StartMini(t)
	const ttl = 3 * time.Second
	client := redislock.New(mini.Client(t))
	defer client.Close()
	locker := check.Must[*redislockgocron.Locker](t)(redislockgocron.NewLocker(client, ttl, nil))
	s := check.Must[gocron.Scheduler](t)(gocron.NewScheduler(gocron.WithDistributedLocker(locker), gocron.WithStopTimeout(50*time.Millisecond)))
	runs, ends := make(chan struct{}, 1), make(chan struct{})
	check.Must[gocron.Job](t)(s.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()),
		gocron.NewTask(func() { runs <- struct{}{}; <-ends }), gocron.WithName("report")))
	s.Start()
	if _, ok := check.Receive(runs, patience); !ok {
		t.Fatal("the job is not run")
	}
	if err := s.Shutdown(); !errors.Is(err, gocron.ErrStopJobsTimedOut) {
		t.Errorf("got %v, want that a job goes on", err)
	}
	time.Sleep(ttl + time.Second)
	wantState(t, client, redislock.KeyState{Mode: redislock.ModeWrite})
	close(ends)
	check.Eventually(t, 10*time.Second, "the lock is released", func() bool { return !mini.Miniredis().Exists("gocron:report") })
}
