package redislockgocron_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/redislockgocron"
)

// patience is how long a test waits for what takes a few seconds.
const patience = time.Minute

func init() {
	redistest.RegisterRole("locker", func(args []string) {
		play(args, func(client *redislock.Client, m setting) gocron.SchedulerOption {
			locker, err := redislockgocron.NewLocker(client, m.ttl, &redislock.Options{HoldAtLeast: m.hold})
			if err != nil {
				panic(err)
			}
			return gocron.WithDistributedLocker(locker)
		})
	})
	redistest.RegisterRole("elector", func(args []string) {
		play(args, func(client *redislock.Client, m setting) gocron.SchedulerOption {
			elector, err := redislockgocron.NewElector(election.Candidate{
				Client: client, Key: "leader", TTL: m.ttl, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				panic(err)
			}
			return gocron.WithDistributedElector(elector)
		})
	})
}

// A setting is how a process works.
type setting struct {
	name  string
	every int           // seconds from tick to tick
	ahead time.Duration // its clock
	ttl   time.Duration
	hold  time.Duration // HoldAtLeast
	work  string        // how long a run takes, or "panic"
}

// start runs a role in a process of its own.
func (m setting) start(t *testing.T, role string, s *redistest.Server) *redistest.Process {
	t.Helper()
	p := redistest.StartRole(t, role, s.Addr(), m.name, fmt.Sprint(m.every), m.ahead.String(), m.ttl.String(), m.hold.String(), m.work)
	world.WantSays(t, p, "up")
	return p
}

// settingOf reads what start has written.
func settingOf(args []string) setting {
	m := setting{name: args[1], work: args[6]}
	_, _ = fmt.Sscan(args[2], &m.every)
	m.ahead, _ = time.ParseDuration(args[3])
	m.ttl, _ = time.ParseDuration(args[4])
	m.hold, _ = time.ParseDuration(args[5])
	return m
}

// play is a machine in a process. It notes each run in a list of the server.
func play(args []string, share func(*redislock.Client, setting) gocron.SchedulerOption) {
	rdb, m := redis.NewClient(&redis.Options{Addr: args[0]}), settingOf(args)
	scheduler, err := gocron.NewScheduler(share(redislock.New(rdb), m), gocron.WithClock(aheadClock{clockwork.NewRealClock(), m.ahead}))
	if err != nil {
		panic(err)
	}
	_, err = scheduler.NewJob(gocron.CronJob(fmt.Sprintf("*/%d * * * * *", m.every), true), gocron.NewTask(func(ctx context.Context) {
		now := time.Now().Add(m.ahead)
		tick := now.Truncate(time.Duration(m.every) * time.Second)
		_ = rdb.RPush(ctx, "runs", fmt.Sprint(m.name, " ", tick.UnixMilli(), " ", now.Sub(tick).Milliseconds())).Err()
		if m.work == "panic" {
			panic("the job panics")
		}
		work, _ := time.ParseDuration(m.work)
		time.Sleep(work)
	}), gocron.WithName("report"))
	if err != nil {
		panic(err)
	}
	scheduler.Start()
	fmt.Println("up")
	select {}
}

// A processRun is what one process notes of one run.
type processRun struct {
	name string
	tick int64         // in ms
	late time.Duration // after the tick
}

// processRuns are the runs that were noted until now.
func processRuns(t *testing.T, rdb *redis.Client) (runs []processRun) {
	t.Helper()
	for _, line := range check.Must[[]string](t)(rdb.LRange(t.Context(), "runs", 0, -1).Result()) {
		var run processRun
		var late int64
		if _, err := fmt.Sscan(line, &run.name, &run.tick, &late); err != nil {
			t.Fatal(line, err)
		}
		run.late = time.Duration(late) * time.Millisecond
		runs = append(runs, run)
	}
	return runs
}

// awaitRuns waits for so many runs by a process.
func awaitRuns(t *testing.T, rdb *redis.Client, name string, n int) {
	t.Helper()
	check.Eventually(t, patience, fmt.Sprintf("%d runs by %s", n, name), func() bool {
		got := 0
		for _, run := range processRuns(t, rdb) {
			if run.name == name {
				got++
			}
		}
		return got >= n
	})
}

// wantOncePerTick checks that no tick was run twice, and none was left out. It does not judge a tick whose run, or the
// one before it, began later than the machines may be late: then the machine that the test runs on was busy.
func wantOncePerTick(t *testing.T, runs []processRun, every, late time.Duration) {
	t.Helper()
	times, busy := map[int64]int{}, map[int64]bool{}
	for _, run := range runs {
		times[run.tick]++
		if run.late > late {
			t.Logf("%v: the machine is busy", run)
			busy[run.tick], busy[run.tick+every.Milliseconds()] = true, true
		}
	}
	for tick := runs[0].tick; tick < runs[len(runs)-1].tick; tick += every.Milliseconds() {
		if times[tick] != 1 && !busy[tick] {
			t.Errorf("tick %d was run %d times: %v", tick, times[tick], runs)
		}
	}
}

// Two processes, whose clocks differ.
func TestProcessesRunEachTickOnce(t *testing.T) {
	t.Parallel()
	for name, role := range map[string]string{"Locker": "locker", "Elector": "elector"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, redistest.Redis)
			rdb := s.Client(t)
			for name, ahead := range map[string]time.Duration{"a": 0, "b": 300 * time.Millisecond} {
				setting{name: name, every: 2, ahead: ahead, ttl: 10 * time.Second, hold: time.Second, work: "1ms"}.start(t, role, s)
			}
			check.Eventually(t, patience, "five ticks", func() bool { return rdb.LLen(t.Context(), "runs").Val() >= 5 })
			wantOncePerTick(t, processRuns(t, rdb), 2*time.Second, 500*time.Millisecond)
		})
	}
}

// The process that runs the job is killed in the middle of it. The next tick after its lease is run by the other.
func TestProcessWithLockKilled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	rdb := s.Client(t)
	const ttl = 3 * time.Second
	first := setting{name: "first", every: 1, ttl: ttl, work: "1h"}.start(t, "locker", s)
	awaitRuns(t, rdb, "first", 1)
	setting{name: "second", every: 1, ttl: ttl, work: "1h"}.start(t, "locker", s)
	time.Sleep(2 * ttl)
	if runs := processRuns(t, rdb); len(runs) != 1 {
		t.Fatalf("got %v, want one run, renewed for two leases", runs)
	}
	asked := time.Now()
	left := check.Must[time.Duration](t)(rdb.PTTL(t.Context(), "gocron:report").Result())
	first.Kill()
	awaitRuns(t, rdb, "second", 1)
	if took := time.Since(asked); took < left-time.Millisecond {
		t.Errorf("the other one runs the job after %v, of the lease there were %v left", took, left)
	}
}

// The leader is killed. The other one leads when its lease is over, and not before.
func TestProcessThatLeadsKilled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	rdb := s.Client(t)
	const ttl = 3 * time.Second
	first := setting{name: "first", every: 1, ttl: ttl, work: "1ms"}.start(t, "elector", s)
	awaitRuns(t, rdb, "first", 2)
	setting{name: "second", every: 1, ttl: ttl, work: "1ms"}.start(t, "elector", s)
	awaitRuns(t, rdb, "first", 4)
	first.Kill()
	awaitRuns(t, rdb, "second", 2)
	ticks := map[int64]string{}
	for _, run := range processRuns(t, rdb) {
		// A process that has stood still for a second may begin two of its own runs in one tick.
		if other := ticks[run.tick]; other != "" && other != run.name {
			t.Errorf("tick %d was run by %s and %s", run.tick, other, run.name)
		}
		ticks[run.tick] = run.name
	}
}

// pauseBetweenRuns pauses a process that leads, between two ticks: if it were paused when gocron has been told that it leads, and
// has not run the job yet, it would run that when it goes on.
func pauseBetweenRuns(t *testing.T, rdb *redis.Client, name string, p *redistest.Process) {
	t.Helper()
	for {
		check.NoError(t, rdb.Del(t.Context(), "runs").Err())
		awaitRuns(t, rdb, name, 1)
		p.Pause()
		runs := processRuns(t, rdb)
		if time.Since(time.UnixMilli(runs[len(runs)-1].tick)) < 900*time.Millisecond {
			return
		}
		p.Resume() // the next tick may have come
	}
}

// The leader is stopped until another one leads. It runs nothing when it goes on: gocron asks before the timers of the
// lease have told anything. The lease is so long that the other one keeps it if the machine stands still for a second or two.
func TestProcessThatLeadsPaused(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	rdb := s.Client(t)
	leader, other := "first", "second"
	processes := map[string]*redistest.Process{}
	for _, name := range []string{leader, other} {
		processes[name] = setting{name: name, every: 1, ttl: 6 * time.Second, work: "1ms"}.start(t, "elector", s)
		awaitRuns(t, rdb, leader, 1)
	}
	for range 2 {
		pauseBetweenRuns(t, rdb, leader, processes[leader])
		awaitRuns(t, rdb, other, 1)
		check.NoError(t, rdb.Del(t.Context(), "runs").Err())
		processes[leader].Resume()
		awaitRuns(t, rdb, other, 2)
		for _, run := range processRuns(t, rdb) {
			if run.name == leader {
				t.Errorf("%s runs a job after the other one has led: %v", leader, run)
			}
		}
		check.NoError(t, rdb.Del(t.Context(), "runs").Err())
		leader, other = other, leader
	}
}

// A panic that no listener recovers ends the program; gocron unlocks before.
func TestProcessPanics(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	rdb := s.Client(t)
	p := setting{name: "first", every: 1, ttl: time.Hour, work: "panic"}.start(t, "locker", s)
	if err := p.Wait(); err == nil {
		t.Fatal("the process has not failed")
	}
	if keys := check.Must[[]string](t)(rdb.Keys(t.Context(), "gocron:*").Result()); len(keys) > 0 {
		t.Errorf("%v are locked still", keys)
	}
	setting{name: "second", every: 1, ttl: time.Hour, work: "1ms"}.start(t, "locker", s)
	awaitRuns(t, rdb, "second", 1)
}

// The server is killed, and started again, empty.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	client := redislock.New(s.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }))
	defer client.Close()
	const ttl = 2 * time.Second
	locker := check.Must[*redislockgocron.Locker](t)(redislockgocron.NewLocker(client, ttl, nil))
	elector := check.Must[*redislockgocron.Elector](t)(redislockgocron.NewElector(election.Candidate{
		Client: client, Key: "leader", TTL: ttl, Logger: slog.New(slog.DiscardHandler),
	}))
	defer elector.Close()
	ran := map[string]chan struct{}{}
	for name, option := range map[string]gocron.SchedulerOption{
		"locker": gocron.WithDistributedLocker(locker), "elector": gocron.WithDistributedElector(elector),
	} {
		runs := make(chan struct{}, 1000)
		ran[name] = runs
		m := check.Must[gocron.Scheduler](t)(gocron.NewScheduler(option))
		check.Must[gocron.Job](t)(m.NewJob(gocron.DurationJob(100*time.Millisecond), gocron.NewTask(func() { runs <- struct{}{} })))
		m.Start()
		defer func() { _ = m.Shutdown() }()
	}
	wantRun := func() {
		t.Helper()
		for name := range ran {
			for len(ran[name]) > 0 {
				<-ran[name]
			}
			if _, ok := check.Receive(ran[name], patience); !ok {
				t.Fatalf("%s: no run within %v", name, patience)
			}
		}
	}
	wantRun()
	s.Kill()
	check.Eventually(t, patience, "it leads no longer", func() bool {
		return errors.Is(elector.IsLeader(t.Context()), redislockgocron.ErrNotLeader)
	})
	_, err := locker.Lock(t.Context(), "other")
	if err == nil || errors.Is(err, redislock.ErrNotObtained) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v, want that the server cannot be reached", err)
	}
	for name := range ran {
		for len(ran[name]) > 0 {
			<-ran[name]
		}
	}
	time.Sleep(time.Second)
	for name := range ran {
		if n := len(ran[name]); n > 0 {
			t.Errorf("%s: %d runs without a server", name, n)
		}
	}
	s.Restart()
	wantRun()
}
