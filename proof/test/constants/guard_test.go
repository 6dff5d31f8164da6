package constants_test

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A guard stands for five minutes, behind all places of its line, and the line a second longer.
func TestGuardsStandForFiveMinutes(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t, once)
		lost := false
		rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
			if check.RunIn(cmd).Of("obtain") && cmd.Err() == nil && !lost {
				lost = true
				cmd.SetErr(os.ErrDeadlineExceeded)
			}
		}})
		began := time.Now().Unix()
		_, err := world.NewClient(t, rdb).Obtain(t.Context(), w.Keys("a"), time.Minute, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		synctest.Wait()
		line := "redislock:line:{" + w.Key("a") + "}"
		all := check.Must[[]redis.Z](t)(w.RDB.ZRangeWithScores(t.Context(), line, 0, -1).Result())
		if want := float64(int64(1)<<52 + (began+300)<<20 + 1); len(all) != 1 || all[0].Score != want {
			t.Errorf("got guards %v, want one of score %.0f", all, want)
		}
		if got := check.Must[time.Duration](t)(w.RDB.PTTL(t.Context(), line).Result()); got != 301*time.Second {
			t.Errorf("the line stays for %v, want 301 s", got)
		}
	})
}

// A server that counts whole seconds may have been up for one less than it says, and as much is waited for.
func TestMinUptimeCountsWholeSeconds(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t, redistest.Redis).Client(t)
	client := world.NewClient(t, rdb, redislock.WithMinUptime(time.Hour))
	up := func() time.Duration {
		return time.Duration(world.Info(t, rdb, "Server", "uptime_in_seconds")) * time.Second
	}
	before := up()
	_, err := client.Obtain(t.Context(), []string{world.NewName(t)}, time.Minute, nil)
	after := up()
	conflict, ok := errors.AsType[*redislock.ConflictError](err)
	if !ok {
		t.Fatalf("got %v, want a conflict", err)
	}
	within(t, "what is to be waited for", conflict.TTL, time.Hour-after+time.Second, time.Hour-before+time.Second)
}

// Numbers are remembered for a day after the hour of their last use, and twice as long as the lease if that is longer.
func TestNumbersAreRememberedForADay(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		use := func(key string, ttl, want time.Duration) {
			t.Helper()
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys(key), ttl, &redislock.Options{Fenced: true}))
			check.NoError(t, lock.Release(t.Context()))
			if got := check.Must[time.Duration](t)(w.RDB.PTTL(t.Context(), "redislock:fence:{"+w.Key(key)+"}").Result()); got != want {
				t.Errorf("they are remembered for %v, want %v", got, want)
			}
		}
		use("a", time.Minute, 25*time.Hour)
		time.Sleep(59 * time.Minute)
		use("a", time.Minute, 24*time.Hour+time.Minute)
		time.Sleep(time.Minute)
		use("a", time.Minute, 25*time.Hour)
		use("b", 20*time.Hour, 40*time.Hour)
	})
}

// An intent outlives the lease that is in the way by 2 s, also if its writer would wait for longer.
func TestIntentsEndBehindTheLease(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), 10*time.Second, nil))
		go func() {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Second, &redislock.Options{
				Intent: true, RetryStrategy: redislock.LinearBackoff(time.Minute),
			}))
			check.NoError(t, lock.Release(t.Context()))
		}()
		synctest.Wait()
		if got := check.Must[time.Duration](t)(w.RDB.PTTL(t.Context(), world.IntentOf(w.Key("a"))).Result()); got != 12*time.Second {
			t.Errorf("the intent lives for %v, want 12 s", got)
		}
		time.Sleep(time.Minute)
	})
}
