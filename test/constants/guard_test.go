package constants_test

import (
	"errors"
	"os"
	"regexp"
	"strconv"
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
		rdb.AddHook(check.Around(func(cmd redis.Cmder, send func() error) error {
			err := send()
			if check.RunIn(cmd).Of("obtain") && err == nil && !lost {
				lost = true
				cmd.SetErr(os.ErrDeadlineExceeded)
				return os.ErrDeadlineExceeded
			}
			return err
		}))
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
	client := world.NewClient(t, rdb)
	up := func() time.Duration {
		info := check.Must[string](t)(rdb.Info(t.Context(), "server").Result())
		n := check.Must[int](t)(strconv.Atoi(regexp.MustCompile(`uptime_in_seconds:(\d+)`).FindStringSubmatch(info)[1]))
		return time.Duration(n) * time.Second
	}
	before := up()
	_, err := client.Obtain(t.Context(), []string{world.NewName(t)}, time.Minute, &redislock.Options{MinUptime: time.Hour})
	after := up()
	conflict, ok := errors.AsType[*redislock.ConflictError](err)
	if !ok {
		t.Fatalf("got %v, want a conflict", err)
	}
	within(t, "what is to be waited for", conflict.TTL, time.Hour-after+time.Second, time.Hour-before+time.Second)
}
