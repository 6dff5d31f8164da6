package redistest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// ownCount is how far off a server may be that adds to an earlier time what its
// monotonic clock has counted since, as Valkey 9.1 does.
const ownCount = 2 * time.Millisecond

// checkTime ends the test if the server's clock is not ahead of the true one by
// want.
func checkTime(t *testing.T, c *redis.Client, want time.Duration) {
	t.Helper()
	earliest := time.Now().Add(want - ownCount)
	reply, err := c.Do(t.Context(), "TIME").Int64Slice()
	latest := time.Now().Add(want + ownCount).Round(0)
	if err != nil {
		t.Fatal(err)
	}
	// Client.Time would take any number of microseconds.
	if len(reply) != 2 || reply[1] < 0 || reply[1] >= 1e6 {
		t.Fatalf("shifted by %v: TIME answers %v", want, reply)
	}
	got := time.Unix(reply[0], reply[1]*1000)
	if got.Before(earliest) || got.After(latest) {
		t.Fatalf("shifted by %v: server's time is %v, want from %v to %v", want, got, earliest, latest)
	}
}

func TestClockShift(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s, clock := redistest.StartSkewed(t, kind)
		other, otherClock := redistest.StartSkewed(t, kind)
		c, oc := s.Client(t), other.Client(t)
		checkTime(t, c, 0)
		otherClock.Shift(time.Minute)
		for _, d := range []time.Duration{
			time.Hour, -time.Hour,
			999_999_999, -999_999_999, // carries a second nearly always
			10 * 365 * 24 * time.Hour, -10 * 365 * 24 * time.Hour,
			0,
		} {
			clock.Shift(d)
			checkTime(t, c, d)
			checkTime(t, oc, time.Minute)
		}
	})
}

func TestClockAfterRestart(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s, clock := redistest.StartSkewed(t, kind)
		c := s.Client(t)
		clock.Shift(-time.Hour)
		s.Restart()
		checkTime(t, c, -time.Hour)
		s.Kill()
		clock.Shift(time.Hour)
		s.Restart()
		checkTime(t, c, time.Hour)
		s.Stop()
		clock.Shift(0)
	})
}

func TestClockExpiry(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		ctx := t.Context()
		s, clock := redistest.StartSkewed(t, kind)
		c := s.Client(t)
		set := func(key string) {
			t.Helper()
			if err := c.Set(ctx, key, "v", time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		}
		// The test may take a minute.
		checkTTL := func(key string, want time.Duration) {
			t.Helper()
			if got, err := c.PTTL(ctx, key).Result(); err != nil || got > want || got <= want-time.Minute {
				t.Errorf("ttl of %s: %v, %v; want %v", key, got, err, want)
			}
		}

		set("early")
		clock.Shift(58 * time.Minute)
		set("late")
		checkTTL("early", 2*time.Minute)
		checkTTL("late", time.Hour)
		clock.Shift(61 * time.Minute)
		if got, err := c.Get(ctx, "early").Result(); err != redis.Nil { //nolint:errorlint // go-redis returns it bare
			t.Errorf("beyond its ttl: %q, %v; want none", got, err)
		}
		checkTTL("late", 57*time.Minute)

		clock.Shift(-time.Hour)
		if got, err := c.Exists(ctx, "early").Result(); got != 0 || err != nil {
			t.Errorf("back again: %d, %v; want an expired key to stay away", got, err)
		}
		checkTTL("late", 2*time.Hour+58*time.Minute)

		// Nobody asks for the key: the server finds it by itself.
		clock.Shift(2 * time.Hour)
		check.Eventually(t, 20*time.Second, "an expired key is removed", func() bool { return c.DBSize(ctx).Val() == 0 })
	})
}

// Jumps in both directions, while the server's own chores are running.
func TestClockResponsive(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		ctx := t.Context()
		s, clock := redistest.StartSkewed(t, kind, "--hz", "500")
		c := s.Client(t, func(opt *redis.Options) {
			opt.MaxRetries, opt.ReadTimeout = -1, 5*time.Second
		})
		if got := c.ConfigGet(ctx, "jemalloc-bg-thread").Val()["jemalloc-bg-thread"]; got != "no" {
			t.Errorf("jemalloc-bg-thread = %q, want no: the thread spins after a jump back", got)
		}
		pid := s.PID()
		for i := range 400 {
			d := time.Duration(i) * time.Minute
			if i%2 == 1 {
				d = -d
			}
			clock.Shift(d)
			checkTime(t, c, d)
			// Something to free, for the threads that do it.
			if err := c.Set(ctx, fmt.Sprint(i%10), make([]byte, 1<<16), time.Hour).Err(); err != nil {
				t.Fatalf("shifted by %v: %v", d, err)
			}
			time.Sleep(time.Millisecond)
		}
		if got, want := c.InfoMap(ctx, "server").Val()["Server"]["process_id"], fmt.Sprint(pid); got != want {
			t.Errorf("process_id = %s, want %s", got, want)
		}
	})
}

func TestClockWithoutCompiler(t *testing.T) {
	redistest.Need(t, "redis-server")
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	if err := os.Symlink(program, filepath.Join(path, "redis-server")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
	for ci, want := range map[string]string{"": "skip", "true": "fatal"} {
		t.Setenv("CI", ci)
		r := &recorder{}
		r.run(func() { redistest.StartSkewed(r, redistest.Redis) })
		if r.end != want {
			t.Errorf("CI=%q: got %q, want %q", ci, r.end, want)
		}
	}
}

// A server that writes to a slow disk answers late, and not any more when the disk is well again.
func TestClockSlowDisk(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s, clock := redistest.StartSkewed(t, kind, "--appendonly", "yes", "--appendfsync", "always")
		c := s.Client(t)
		set := func() time.Duration {
			start := time.Now()
			if err := c.Set(t.Context(), "key", "value", 0).Err(); err != nil {
				t.Fatal(err)
			}
			return time.Since(start)
		}
		for range 2 {
			clock.SlowDisk(late)
			if took := set(); took < late {
				t.Errorf("a write took %v, want at least %v", took, late)
			}
			clock.SlowDisk(0)
			quickest := set()
			for range 20 { // the machine may be busy, but not each time
				quickest = min(quickest, set())
			}
			if quickest >= late {
				t.Errorf("with a good disk the quickest write took %v", quickest)
			}
			s.Restart()
		}
	})
}
