package line_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func init() {
	// leaver holds a key for a lease of args[2], and leaves it for args[3] as soon as somebody stands in line.
	redistest.RegisterRole("leaver", func(args []string) {
		ctx, rdb := context.Background(), redis.NewClient(&redis.Options{Addr: args[0]})
		ttl, _ := time.ParseDuration(args[2])
		left, _ := time.ParseDuration(args[3])
		lock, err := redislock.New(rdb).Obtain(ctx, args[1:2], ttl, world.Watched)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("held")
		for rdb.Exists(ctx, "redislock:line:{"+args[1]+"}").Val() == 0 {
			time.Sleep(check.Look)
		}
		fmt.Println("left:", lock.Leave(ctx, left))
	})
}

// A process that is killed while it leaves a key keeps it for the time of the Leave, if that was executed, or until its
// lease ends. Then whoever is next has it.
func TestLeaverKilled(t *testing.T) {
	t.Parallel()
	const lease, left = 4 * time.Second, 7 * time.Second
	for name, executed := range map[string]bool{"the reply is lost": true, "the request is lost": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStreet(t)
			check.NoError(t, s.hold(t).Release(t.Context())) // the server knows the scripts
			check.NoError(t, s.hold(t).Leave(t.Context(), time.Millisecond))
			relay := redistest.NewRelay(t, s.server.Addr())
			p := redistest.StartRole(t, "leaver", relay.Addr(), s.Key("k"), lease.String(), left.String())
			world.WantSays(t, p, "held")
			leaves := make(chan time.Time, 100)
			relay.OnRequest(func(name string, args []string) {
				if world.OperationOf(name, args) == "release" {
					relay.DropReplies(executed)
					relay.Blackhole(!executed)
					leaves <- time.Now()
				}
			})
			s.waiter(t, "next")
			began := <-leaves // before the server knows
			watch := check.StartWatch(t)
			if executed {
				check.Eventually(t, world.Soon, "the key is left", func() bool { return s.RDB.Get(t.Context(), s.Key("k")).Val() == "|" })
			}
			p.Kill()
			want, slack := left, time.Second
			if !executed {
				want = lease
			}
			got := <-s.turns
			check.NoError(t, got.Err)
			if took := watch.Took(); took > want+slack {
				t.Errorf("the next has its turn after %v, want %v", took, want)
			}
			if took := time.Since(began); executed && took < want-slack {
				t.Errorf("the next has its turn after %v already, want %v", took, want)
			}
			check.NoError(t, got.Lock.Release(t.Context()))
		})
	}
}

// A waiter that is killed while it stands behind a key that was left is passed over when the time is over.
func TestKilledBehindLeft(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	lock := s.hold(t)
	p := s.process(t, waiterTTL, 0)
	s.waiter(t, "next")
	const left = 2 * time.Second
	began, watch := time.Now(), check.StartWatch(t)
	check.NoError(t, lock.Leave(t.Context(), left))
	s.kill(t, p)
	got := <-s.turns
	check.NoError(t, got.Err)
	if took, least := watch.Took(), time.Since(began); least < left || took > left+world.Soon {
		t.Errorf("the next has its turn %v after the Leave, want it after %v", least, left)
	}
	check.NoError(t, got.Lock.Release(t.Context()))
	// What the killed one has sent last may be executed after it was passed over. Then its entry is there until the line ends.
	check.Eventually(t, time.Minute, "nothing is left", func() bool {
		return check.Must[int64](t)(s.RDB.Exists(t.Context(), s.Key("k"), "redislock:line:{"+s.Key("k")+"}").Result()) == 0
	})
}

// What was left is as it was after the server has started again with its data, and ends when it was to end.
func TestLeftSurvivesRestart(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := redistest.Start(t, kind)
		w := world.New(t, s)
		ctx := t.Context()
		check.NoError(t, w.RDB.ConfigSet(ctx, "appendonly", "yes").Err())
		check.NoError(t, w.RDB.ConfigSet(ctx, "appendfsync", "always").Err())
		check.Eventually(t, world.Soon, "the log is there", func() bool {
			return world.Info(t, w.RDB, "Persistence", "aof_rewrite_in_progress") == 0
		})
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(ctx, redislock.Set{Write: w.Keys("a"), Read: w.Keys("b")}, world.Long, world.Fenced()))
		const left = 6 * time.Second
		began := time.Now()
		check.NoError(t, lock.Leave(ctx, left))
		turns := make(chan world.Turn, 1)
		w.Wait(ctx, turns, "next", w.Keys("a", "b"), nil)
		w.InLine(t, w.Key("a"), 1)
		s.Restart("--appendonly", "yes")
		for key, mode := range map[string]redislock.Mode{"a": redislock.ModeWrite, "b": redislock.ModeRead} {
			_, err := world.NewClient(t, s.Client(t)).Obtain(ctx, w.Keys(key), world.Long, nil)
			if conflict := world.WantConflict(t, err, w.Key(key), mode); !conflict.Left || conflict.TTL > left {
				t.Errorf("got %+v", conflict)
			}
		}
		got := <-turns
		check.NoError(t, got.Err)
		if took := time.Since(began); took < left || took > left+world.Soon {
			t.Errorf("the next has its turn %v after the Leave, want %v", took, left)
		}
		check.NoError(t, got.Lock.Release(ctx))
	})
}

// The shortest time, names with braces, and something else where a key should be that is to be left.
func TestLeaveEdges(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx := t.Context()
		for _, names := range [][]string{{"k"}, {"a{b", "a{b"}, {"a}b", "a}b"}, {"{tag}a", "{tag}b"}, {"{}a"}} {
			for _, obtain := range []func() (*redislock.Lock, error){
				func() (*redislock.Lock, error) { return w.Client.Obtain(ctx, w.Keys(names...), world.Long, nil) },
				func() (*redislock.Lock, error) {
					return w.Client.ObtainRead(ctx, w.Keys(names...), world.Long, &redislock.Options{Fenced: true})
				},
			} {
				lock := check.Must[*redislock.Lock](t)(obtain())
				check.NoError(t, lock.Leave(ctx, time.Minute))
				for _, name := range names {
					w.WantTTL(t, w.Key(name), time.Minute/2, time.Minute)
					if state := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(ctx, w.Keys(name)))[0]; !state.Holders[0].Left {
						t.Errorf("got %v", state)
					}
				}
				check.NoError(t, w.RDB.Del(ctx, w.Keys(names...)...).Err())
				lock = check.Must[*redislock.Lock](t)(obtain())
				check.NoError(t, lock.Leave(ctx, time.Millisecond))
				time.Sleep(2 * time.Millisecond)
				w.WantFree(t, w.Keys(names...)...)
			}
		}
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(ctx, redislock.Set{Write: w.Keys("x", "y"), Read: w.Keys("z")}, world.Long, nil))
		for _, name := range []string{"x", "z"} {
			check.NoError(t, w.RDB.Del(ctx, w.Key(name)).Err())
			check.NoError(t, w.RDB.HSet(ctx, w.Key(name), "theirs", 1).Err())
		}
		check.Is(t, lock.Leave(ctx, time.Minute), redislock.ErrLockNotHeld)
		w.WantTTL(t, w.Key("y"), time.Minute/2, time.Minute)
		for _, name := range []string{"x", "z"} {
			if got := w.RDB.HGet(ctx, w.Key(name), "theirs").Val(); got != "1" {
				t.Errorf("what stands at %q is %q", name, got)
			}
			check.NoError(t, w.RDB.Del(ctx, w.Key(name)).Err())
		}
	})
}

// The largest sets are left in one step, with somebody in line, and do not hold the server up for long.
func TestLeaveManyKeys(t *testing.T) {
	t.Parallel()
	const n = 10000
	s := redistest.Start(t, redistest.Redis)
	w := world.New(t, s, redislock.WithMaxKeys(n))
	ctx, keys := t.Context(), world.Numbered("k", n)
	for name, c := range map[string]struct {
		write, read []string
		fenced      bool
	}{"write": {keys, nil, false}, "read": {nil, keys, false}, "mixed, fenced": {keys[:n/2], keys[n/2:], true}} {
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(ctx, redislock.Set{Write: c.write, Read: c.read}, world.Long, &redislock.Options{Fenced: c.fenced}))
		turns := make(chan world.Turn, 1)
		w.Wait(ctx, turns, "next", keys[n-1:], nil)
		w.InLine(t, keys[n-1], 1)
		check.NoError(t, w.RDB.ConfigResetStat(ctx).Err())
		watch := check.StartWatch(t)
		check.NoError(t, lock.Leave(ctx, time.Hour))
		if took := watch.Took(); took > 20*time.Second { // if it grew with the square of n
			t.Errorf("%s: it took %v", name, took)
		}
		t.Logf("%s: %s", name, evalTime(t, w))
		for _, key := range []string{keys[0], keys[n/2], keys[n-1]} {
			w.WantTTL(t, key, time.Hour/2, time.Hour)
		}
		if broken := check.Must[[]redislock.Holder](t)(w.Client.Break(ctx, keys, "for a test")); len(broken) != n {
			t.Errorf("%s: %d owners are broken, want %d", name, len(broken), n)
		}
		check.NoError(t, world.WantTurn(t, turns, "next")[0].Release(ctx))
	}
}

// evalTime says how long scripts have kept the server busy.
func evalTime(t *testing.T, w *world.World) string {
	t.Helper()
	stats := check.Must[map[string]map[string]string](t)(w.RDB.InfoMap(t.Context(), "commandstats").Result())["Commandstats"]
	return stats["cmdstat_evalsha"] + " " + stats["cmdstat_eval"]
}
