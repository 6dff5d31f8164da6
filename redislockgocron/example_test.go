package redislockgocron_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/redislockgocron"
)

// schedule has a report written every hour, by one of the machines that call it.
func schedule(client *redislock.Client, report func(context.Context) error) (gocron.Scheduler, error) {
	locker, err := redislockgocron.NewLocker(client, time.Minute, &redislock.Options{
		HoldAtLeast: 30 * time.Minute, // half of the time between two ticks
		Wait:        5 * time.Second,  // for Redis to answer
	})
	if err != nil {
		return nil, err
	}
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		return nil, err
	}
	_, err = scheduler.NewJob(
		gocron.CronJob("0 * * * *", false),
		gocron.NewTask(func(ctx context.Context) error { return report(locker.Context(ctx, "report")) }),
		gocron.WithName("report"), // the same on all machines, and that of no other job
		gocron.WithEventListeners(gocron.AfterLockError(func(_ uuid.UUID, job string, err error) {
			if !errors.Is(err, redislock.ErrNotObtained) { // so perhaps no machine has this tick
				slog.Error("job is not run", "job", job, "error", err)
			}
		})),
	)
	return scheduler, err
}

// Every machine starts the job, and each tick is run once.
func ExampleNewLocker() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close() // after the schedulers
	runs := make(chan string)
	for range 2 {
		scheduler, err := schedule(client, func(context.Context) error {
			runs <- "one machine writes the report"
			return nil
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = scheduler.Shutdown() }()
		scheduler.Start()
		_ = scheduler.Jobs()[0].RunNow() // the hour strikes
	}
	fmt.Println(<-runs)
	select {
	case run := <-runs:
		fmt.Println("and", run)
	case <-time.After(100 * time.Millisecond):
		fmt.Println("and nobody else does")
	}
	// Output:
	// one machine writes the report
	// and nobody else does
}

// leaders is a Locker of those machines alone that lead: one machine runs all jobs, and no tick is run twice when
// another one leads.
type leaders struct {
	elector *redislockgocron.Elector
	locker  *redislockgocron.Locker
}

// Lock takes the lock of a job, if this machine leads.
func (l leaders) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	if err := l.elector.IsLeader(ctx); err != nil {
		return nil, err
	}
	return l.locker.Lock(ctx, job)
}

// The Elector chooses a machine, and the Locker the tick.
func ExampleElector_locker() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()
	locker, err := redislockgocron.NewLocker(client, time.Minute, &redislock.Options{HoldAtLeast: 30 * time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	elector, err := redislockgocron.NewElector(election.Candidate{Client: client, Key: "leader:jobs", TTL: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	both := leaders{elector, locker}
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(both))
	if err != nil {
		fmt.Println(err)
		return
	}
	scheduler.Start()
	_ = scheduler.Shutdown()
	elector.Close()
	_, err = both.Lock(context.Background(), "report")
	fmt.Println(err)
	// Output: redislockgocron: not the leader: the Elector is closed
}

// A job ends when its lock is lost, and its writes carry the number of the lock.
func ExampleLocker_Context() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()
	locker, err := redislockgocron.NewLocker(client, 3*time.Second, &redislock.Options{Fenced: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = scheduler.Shutdown() }()
	ends := make(chan error)
	report := func(ctx context.Context) {
		ctx = locker.Context(ctx, "report")
		fmt.Println("has a number:", redislock.FromContext(ctx).Fence() > 0)
		_, _ = client.Break(ctx, []string{"gocron:report"}, "it hangs") // by somebody else, in life
		<-ctx.Done()
		ends <- context.Cause(ctx)
	}
	_, err = scheduler.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()),
		gocron.NewTask(report), gocron.WithName("report"))
	if err != nil {
		fmt.Println(err)
		return
	}
	scheduler.Start()
	err = <-ends
	fmt.Println("lost:", errors.Is(err, redislock.ErrLockLost))
	// Output:
	// has a number: true
	// lost: true
}

// Jobs that must not run at the same time have one key.
func ExampleWithKey() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb, redislock.WithKeyPrefix("lock:"))
	defer client.Close()
	locker, err := redislockgocron.NewLocker(client, time.Minute, nil, redislockgocron.WithKey(func(job string) string {
		if job == "import" || job == "export" {
			return "warehouse"
		}
		return "job:" + job
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background() // gocron does the rest
	lock, err := locker.Lock(ctx, "import")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = locker.Lock(ctx, "export")
	fmt.Println(errors.Is(err, redislock.ErrNotObtained), rdb.Exists(ctx, "lock:warehouse").Val())
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// true 1
	// <nil>
}

// One machine runs all jobs, until it resigns or dies.
func ExampleNewElector() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()
	elector, err := redislockgocron.NewElector(election.Candidate{Client: client, Key: "leader:jobs", TTL: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer elector.Close() // after the scheduler, whose jobs it does not wait for
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = scheduler.Shutdown() }()
	runs := make(chan string, 100)
	report := func(ctx context.Context) error {
		ctx, cancel := elector.Context(ctx) // ends when this machine leads no longer
		defer cancel()
		runs <- "the leader writes the report"
		return ctx.Err()
	}
	_, err = scheduler.NewJob(gocron.DurationJob(10*time.Millisecond), gocron.NewTask(report))
	if err != nil {
		fmt.Println(err)
		return
	}
	scheduler.Start()
	fmt.Println(<-runs)
	// Output: the leader writes the report
}

// IsLeader says why a machine does not lead.
func ExampleElector_IsLeader() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()
	elector, err := redislockgocron.NewElector(election.Candidate{Client: client, Key: "leader:jobs", TTL: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	elector.Close() // it resigns
	err = elector.IsLeader(context.Background())
	fmt.Println(errors.Is(err, redislockgocron.ErrNotLeader), err)
	// Output: true redislockgocron: not the leader: the Elector is closed
}
