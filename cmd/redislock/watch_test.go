package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestWatchUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"--every 10ms", "--every is 10ms, it is 100ms at least"},
		{"--budget 7", "--budget is 7, it is 100 at least"},
		{"--count -1", "--count is -1"},
		{"--rows -1", "--rows is -1"},
		{"--sort colour", `--sort "colour" is no column; there are urgency, key`},
		{"a:* b", `"a:*" is a pattern, which stands alone`},
	} {
		_, stderr, status := runTool(t, append([]string{"watch", "--redis", "redis://127.0.0.1:1"}, strings.Fields(tt.args)...)...)
		if status != 2 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: status %d, stderr %q, want 2 and %q", tt.args, status, stderr, tt.want)
		}
	}
	if _, stderr, status := runTool(t, "watch", ""); status != 2 || !strings.Contains(stderr, "a key is empty") {
		t.Errorf("an empty key: status %d, stderr %q", status, stderr)
	}
	if _, stderr, status := runTool(t, "watch", "--count", "1", "--redis", "redis://127.0.0.1:1"); status != 69 || !strings.Contains(stderr, "cannot use 127.0.0.1:1") {
		t.Errorf("no server: status %d, stderr %q", status, stderr)
	}
}

// lockSome locks keys on a server, and returns its client.
func lockSome(t *testing.T, s redistest.Backend, prefix string, n int) *redis.Client {
	t.Helper()
	rdb := s.Client(t)
	client := redislock.New(rdb)
	for from := 0; from < n; from += 500 {
		var keys []string
		for i := from; i < min(n, from+500); i++ {
			keys = append(keys, fmt.Sprintf("%s%05d", prefix, i))
		}
		check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, time.Hour, &redislock.Options{Metadata: "host=web-1\x1b[2J"}))
	}
	return rdb
}

func TestWatchPlain(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	lockSome(t, s, "orders:", 3)
	url := "redis://" + s.Addr()
	t.Run("tables", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, status := runTool(t, "watch", "--redis", url, "--count", "3", "--every", "100ms", "--rows", "2", "--sort", "key", "orders:*")
		if status != 0 || stderr != "" || strings.Contains(stdout, "\x1b") {
			t.Errorf("status %d, stderr %q, stdout\n%s", status, stderr, stdout)
		}
		if got := strings.Count(stdout, "3 keys: 3 held (0 read), 0 lines, 0 waiters\n"); got != 3 {
			t.Errorf("got %d tables, want 3:\n%s", got, stdout)
		}
		if got := strings.Count(stdout, "\norders:00001  write  \"host=web-1\\x1b[2J\""); got != 3 || !strings.Contains(stdout, "and 1 more: see --rows\n") {
			t.Errorf("the rows are not as they should be:\n%s", stdout)
		}
	})
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		stdout, _, status := runTool(t, "watch", "--redis", url, "--json", "--count", "2", "--every", "100ms", "orders:00001", "a b")
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if status != 0 || len(lines) != 4 {
			t.Fatalf("status %d, want 2 lines for each of 2 keys:\n%s", status, stdout)
		}
		modes := make(map[string]string)
		for _, line := range lines {
			var object struct {
				Time time.Time
				Key  string
				Mode string
			}
			check.NoError(t, json.Unmarshal([]byte(line), &object))
			if modes[object.Key] = object.Mode; time.Since(object.Time).Abs() > time.Hour {
				t.Errorf("time %v", object.Time)
			}
		}
		if modes["orders:00001"] != "write" || modes["a b"] != "free" {
			t.Errorf("got %v", modes)
		}
	})
	t.Run("dumb terminal, end", func(t *testing.T) {
		t.Parallel()
		p := newProcess(t, "watch", "--redis", url, "--every", "100ms")
		p.start(t)
		check.Eventually(t, time.Minute, "the second table", func() bool { return strings.Count(p.stdout.String(), "KEY") > 1 })
		check.NoError(t, p.Process.Signal(os.Interrupt))
		if status := p.status(t); status != 130 {
			t.Errorf("exit status %d, want 130", status)
		}
	})
}

// While the server is away no tables are written; it is said once, and they go on by themselves.
func TestWatchPlainServerAway(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	p := newProcess(t, "watch", "--redis", "redis://"+s.Addr(), "--every", "100ms", "orders:17").start(t)
	check.Eventually(t, time.Minute, "a table", func() bool { return strings.Contains(p.stdout.String(), "orders:17") })
	s.Kill()
	check.Eventually(t, time.Minute, "it is said", func() bool { return strings.Contains(p.stderr.String(), "is away") })
	before := strings.Count(p.stdout.String(), "orders:17")
	s.Restart()
	check.Eventually(t, time.Minute, "it is said that it is back", func() bool { return strings.Contains(p.stderr.String(), "is back") })
	check.Eventually(t, time.Minute, "there are tables", func() bool { return strings.Count(p.stdout.String(), "orders:17") > before+1 })
	if stderr := p.stderr.String(); strings.Count(stderr, "is away") != 1 || strings.Count(stderr, "is back") != 1 {
		t.Errorf("stderr is\n%s", stderr)
	}
}

// A user who may not search is told so at once; keys that are named need no search.
func TestWatchRefused(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	rdb := lockSome(t, s, "orders:", 1)
	user := func(name string, rules ...any) string {
		check.NoError(t, rdb.Do(t.Context(), append([]any{"acl", "setuser", name, "reset", "on", ">pw", "~*", "&*", "+@all"}, rules...)...).Err())
		return "redis://" + name + ":pw@" + s.Addr()
	}
	noScan, noScripts, noType := user("scanless", "-scan"), user("scriptless", "-evalsha", "-eval"), user("typeless", "-type")
	for _, args := range [][]string{{noScan}, {noScripts}, {noScripts, "orders:00000"}, {noType, "orders:00000"}} {
		if _, stderr, status := runTool(t, append([]string{"watch", "--count", "1", "--redis"}, args...)...); status == 0 || stderr == "" {
			t.Errorf("%q: status %d, stderr %q", args, status, stderr)
		}
	}
	if stdout, stderr, status := runTool(t, "watch", "--count", "1", "--redis", noScan, "orders:00000"); status != 0 || !strings.Contains(stdout, "write") {
		t.Errorf("status %d, stderr %q, stdout %q", status, stderr, stdout)
	}
}

func TestWatchCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, redistest.Redis, 3, 0)
	client := redislock.New(c.Client(t))
	for i := range 20 {
		check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{fmt.Sprintf("orders:%d", i)}, time.Hour, nil))
	}
	addr := c.Addrs()[0]
	stdout, stderr, status := runTool(t, "watch", "--redis", "redis://"+addr+"?addr="+addr, "--count", "1")
	if status != 0 || !strings.Contains(stdout, "20 keys: 20 held") {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, stderr, stdout)
	}
}

// commandsOf counts what the server has done, without what the test itself asks for.
func commandsOf(t *testing.T, rdb *redis.Client) (n int) {
	t.Helper()
	for name, calls := range world.Calls(t, rdb) {
		if name != "info" && !strings.HasPrefix(name, "config") {
			n += calls
		}
	}
	return n
}

// However many keys there are, the server has no more to do than was said: as its own count says.
func TestWatchBudget(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 1000, 20_000} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			const budget = 5000
			s := redistest.Start(t, redistest.Redis)
			rdb := lockSome(t, s, "k", n)
			check.NoError(t, rdb.ConfigResetStat(t.Context()).Err())
			began := time.Now()
			// Not every search ends here, so there may be no table; the looks go on meanwhile.
			p := newProcess(t, "watch", "--redis", "redis://"+s.Addr(), "--every", "200ms", "--budget", strconv.Itoa(budget)).start(t)
			for used := 0; time.Since(began) < 4*time.Second || used < 20; {
				time.Sleep(200 * time.Millisecond) // that is what is measured
				used = commandsOf(t, rdb)
				// Beside the budget: what was saved before the first look, and to connect.
				if allowed := budget*(time.Since(began).Seconds()+1) + 1000; float64(used) > allowed {
					t.Fatalf("%d commands in %v, want %.0f at most", used, time.Since(began), allowed)
				}
				if used < 20 && time.Since(began) > time.Minute {
					t.Fatalf("%d commands: the tool did nothing\n%s", used, p.stderr.String())
				}
				t.Logf("%d keys: %d commands in %v", n, used, time.Since(began))
			}
		})
	}
}

func init() { fixtures["watch"] = watchScene }

// watchScene brings a server into the state that the page shows: a lock that is renewed, for which others have waited for long,
// and one that two read.
func watchScene(t *testing.T, addr string) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	ctx := context.WithoutCancel(t.Context())
	lock := check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{"orders:17"}, 30*time.Second,
		&redislock.Options{Metadata: "host=web-3 pid=812", Watchdog: true}))
	t.Cleanup(func() { _ = lock.Release(ctx) })
	for _, pid := range []int{98, 99} { // of one width: whose lease ends first is by chance
		check.Must[*redislock.Lock](t)(client.ObtainRead(ctx, []string{"stock:9"}, 10*time.Minute,
			&redislock.Options{Metadata: fmt.Sprintf("host=web-1 pid=%d", pid)}))
	}
	waitForLong(t, rdb, client, "orders:17")
}

// waitForLong has two wait in the line of a key that is held, the first for four minutes, and a third who has died.
func waitForLong(t *testing.T, rdb *redis.Client, client *redislock.Client, key string) {
	t.Helper()
	ctx, line := context.WithoutCancel(t.Context()), slot.Beside("line", key)
	waiting, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = client.Obtain(waiting, []string{key}, time.Minute, &redislock.Options{Queue: true, Metadata: "host=web-2 pid=5"})
	}()
	var entries []string
	check.Eventually(t, time.Minute, "somebody stands in line", func() bool {
		// On a busy machine there may be guards, too.
		entries = slices.DeleteFunc(rdb.ZRange(ctx, line, 0, -1).Val(), func(entry string) bool { return !strings.Contains(entry, "|") })
		return len(entries) == 1
	})
	cancel()
	<-done
	// The page needs somebody who came four minutes ago, and one that has died.
	parts := strings.SplitN(entries[0], "|", 3)
	for i, till := range []time.Duration{time.Hour, time.Hour, -time.Minute} {
		member := fmt.Sprintf("%.21s%d|%d|%s", parts[0], i, time.Now().Add(till).UnixMilli(), parts[2])
		since := time.Now().Add(-time.Duration(4-i) * time.Minute).UnixMicro()
		check.NoError(t, rdb.ZAdd(ctx, line, redis.Z{Score: float64(since), Member: member}).Err())
	}
}
