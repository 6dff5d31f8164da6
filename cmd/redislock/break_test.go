package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func init() {
	fixtures["held"] = func(t *testing.T, addr string) {
		t.Helper()
		holdAndWait(t, redis.NewClient(&redis.Options{Addr: addr}), "orders:17")
	}
}

// A crew holds a key, and stands in line for it.
type crew struct {
	*redislock.Client
	lost <-chan error // why the holder has lost the key
	next <-chan *redislock.Lock
}

// holdAndWait has one process hold a key that hears of a Break, and another one wait for it in line.
func holdAndWait(t *testing.T, rdb redis.UniversalClient, key string) crew {
	t.Helper()
	c := redislock.New(rdb, redislock.WithBreakNotices())
	t.Cleanup(c.Close)
	lock := check.Must[*redislock.Lock](t)(c.Obtain(t.Context(), []string{key}, time.Minute,
		&redislock.Options{Metadata: "host=web-3 pid=812 prog=shop", Watchdog: true}))
	ctx := lock.Context(t.Context())
	lost, next := make(chan error, 1), make(chan *redislock.Lock, 1)
	go func() {
		<-ctx.Done()
		lost <- context.Cause(ctx)
	}()
	go func() {
		if l, err := c.Obtain(t.Context(), []string{key}, time.Minute, &redislock.Options{Metadata: "host=web-4 pid=97 prog=shop", Queue: true}); err == nil {
			next <- l
		}
	}()
	check.Eventually(t, 20*time.Second, "the other stands in line, and the holder hears", func() bool {
		s := check.Must[[]redislock.KeyState](t)(c.Inspect(t.Context(), []string{key}))[0]
		heard := check.Must[map[string]int64](t)(rdb.PubSubNumSub(t.Context(), "redislock:break").Result())
		return len(s.Line) == 1 && heard["redislock:break"] > 0
	})
	return crew{c, lost, next}
}

// wantBroken checks that the holder has heard of the Break, and that the next one has the key.
func (c crew) wantBroken(t *testing.T, reason string) {
	t.Helper()
	cause, ok := check.Receive(c.lost, 30*time.Second)
	if !ok || !errors.Is(cause, redislock.ErrBroken) || !strings.Contains(cause.Error(), reason) {
		t.Errorf("the holder was told %v, want that it is broken: %s", cause, reason)
	}
	if _, ok := check.Receive(c.next, 30*time.Second); !ok {
		t.Error("the next one has not got the key")
	}
}

// holder holds keys, and nothing more.
func holder(t *testing.T, rdb redis.UniversalClient, who string, keys ...string) *redislock.Lock {
	t.Helper()
	c := redislock.New(rdb)
	t.Cleanup(c.Close)
	return check.Must[*redislock.Lock](t)(c.Obtain(t.Context(), keys, time.Hour, &redislock.Options{Metadata: who}))
}

// wantHeld checks that a lock was not broken.
func wantHeld(t *testing.T, lock *redislock.Lock) {
	t.Helper()
	if ttl, err := lock.TTL(t.Context()); err != nil || ttl == 0 {
		t.Errorf("the lock has %v left (%v), want it held", ttl, err)
	}
}

// onServer runs the tool against a server.
func onServer(t *testing.T, addr string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return runTool(t, append(args, "--redis", "redis://"+addr)...)
}

func wantStatus(t *testing.T, got, want int, stdout, stderr string, parts ...string) {
	t.Helper()
	if got != want {
		t.Errorf("exit status %d, want %d\n%s%s", got, want, stdout, stderr)
	}
	for _, part := range parts {
		if !strings.Contains(stdout+stderr, part) {
			t.Errorf("it says\n%s%swant %q in it", stdout, stderr, part)
		}
	}
}

// shared returns the server that tests share, and a name for keys of this test.
func shared(t *testing.T) (addr string, rdb *redis.Client, key string) {
	t.Helper()
	b := redistest.Shared(t, redistest.Redis)
	return b.Addr(), b.Client(t), world.NewName(t)
}

type brokenLine struct {
	Key    string
	Broken []struct {
		Mode, Metadata string
		Since          time.Time
	}
	Now *struct {
		Mode    string
		Holders []struct{ Metadata string }
	}
	Error string
}

func jsonLines[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var one T
		check.NoError(t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	return all
}

// With --yes it breaks without a question. Whoever listens hears the reason, and so does the log.
func TestBreakYes(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	crew, before := holdAndWait(t, rdb, key), time.Now().Add(-time.Hour)
	stdout, stderr, status := onServer(t, addr, "break", "--yes", "--json", "--reason", "the host hangs", key, key+"free")
	wantStatus(t, status, 0, stdout, stderr, "level=WARN", `reason="the host hangs"`)
	crew.wantBroken(t, "the host hangs")
	lines := jsonLines[brokenLine](t, stdout)
	if len(lines) != 2 || lines[0].Key != key+"free" || len(lines[0].Broken) != 0 || lines[0].Now.Mode != "free" {
		t.Fatalf("got %s, want that nobody was broken of the first key", stdout)
	}
	if b := lines[1].Broken; len(b) != 1 || b[0].Metadata != "host=web-3 pid=812 prog=shop" || b[0].Mode != "write" || b[0].Since.Before(before) {
		t.Errorf("got %s, want the holder broken", stdout)
	}
	if now := lines[1].Now; now == nil || len(now.Holders) != 1 || now.Holders[0].Metadata != "host=web-4 pid=97 prog=shop" {
		t.Errorf("got %s, want that the next one has the key", stdout)
	}
}

// Without a terminal nobody is asked, and nobody broken.
func TestBreakNeedsATerminal(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	lock := holder(t, rdb, "me", key)
	stdout, stderr, status := onServer(t, addr, "break", key)
	wantStatus(t, status, 2, stdout, stderr, "no terminal", "--yes")
	wantHeld(t, lock)
}

// If one key is no lock, none is broken.
func TestBreakNoLock(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	lock := holder(t, rdb, "me", key)
	check.NoError(t, rdb.RPush(t.Context(), key+"list", "data").Err())
	check.NoError(t, rdb.ZAdd(t.Context(), key+"scores", redis.Z{Score: float64(time.Now().Add(2 * time.Hour).UnixMilli()), Member: "alice"}).Err())
	check.NoError(t, rdb.Expire(t.Context(), key+"scores", time.Hour).Err())
	for name, kind := range map[string]string{"list": "list", "scores": "zset"} {
		stdout, stderr, status := onServer(t, addr, "break", "--yes", key, key+name)
		wantStatus(t, status, 65, stdout, stderr, key+name, "holds a "+kind+" that is no lock")
	}
	wantHeld(t, lock)
}

func TestBreakBadInput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"break", "--yes"}, "no key is given"},
		{[]string{"break", "--yes", "k", ""}, "key 2 is empty"},
		{[]string{"break", "--yes", "--reason", strings.Repeat("x", 1025), "k"}, "--reason has 1025 bytes"},
		{[]string{"wait"}, "no key is given"},
		{[]string{"wait", "--wait", "-1s", "k"}, "--wait is -1s"},
		{[]string{"wait", "--wait", "soon", "k"}, "soon"},
	} {
		stdout, stderr, status := onServer(t, "127.0.0.1:1", tt.args...) // nothing is asked there
		wantStatus(t, status, 2, stdout, stderr, tt.want)
	}
	for _, command := range [][]string{{"break", "--yes", "k"}, {"wait", "k"}} {
		stdout, stderr, status := onServer(t, "127.0.0.1:1", command...)
		wantStatus(t, status, 69, stdout, stderr, "127.0.0.1:1")
	}
}

// What is stored in Redis does not reach the terminal as it is, and keys are given without their prefix.
func TestBreakShowsSafely(t *testing.T) {
	t.Parallel()
	addr, rdb, prefix := shared(t)
	key := "a\x1b[2J b"
	holder(t, rdb, "\x1b]0;title\a", prefix+key)
	stdout, stderr, status := onServer(t, addr, "break", "--yes", "--prefix", prefix, key)
	wantStatus(t, status, 0, stdout, stderr, `"a\x1b[2J b": taken from "\x1b]0;title\a"`, "now free")
	if strings.ContainsAny(stdout, "\x1b\a") || strings.Contains(stdout, prefix) {
		t.Errorf("it writes %q", stdout)
	}
}

// On a Cluster keys are broken slot by slot. If one of them fails the others are broken all the same.
func TestBreakCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
	rdb := cluster.Client(t)
	keys := []string{"a", "b", "c"}
	locks := map[string]*redislock.Lock{}
	for _, key := range keys {
		locks[key] = holder(t, rdb, "me "+key, key)
	}
	url := "redis://" + cluster.Addrs()[0] + "?addr=" + cluster.Addrs()[1]
	one := cluster.MasterOf("b").Client(t)
	check.NoError(t, one.Do(t.Context(), "ACL", "SETUSER", "default", "-zadd").Err())
	stdout, stderr, status := runTool(t, "break", "--yes", "--redis", url, "a", "b", "c")
	wantStatus(t, status, 1, stdout, stderr, "a: taken from me a", "c: taken from me c", "1 of 3 parts have failed")
	wantHeld(t, locks["b"])
	check.NoError(t, one.Do(t.Context(), "ACL", "SETUSER", "default", "+zadd").Err())
	stdout, stderr, status = runTool(t, "break", "--yes", "--redis", url, "a", "b", "c")
	wantStatus(t, status, 0, stdout, stderr, "a: nobody is broken", "b: taken from me b")
	if strings.Contains(stdout, "me a") {
		t.Errorf("it breaks twice:\n%s", stdout)
	}
}

// If no answer comes it says that the outcome is not known.
func TestBreakUnknown(t *testing.T) {
	t.Parallel()
	b := redistest.Shared(t, redistest.Redis)
	key := world.NewName(t)
	holder(t, b.Client(t), "me", key)
	relay := redistest.NewRelay(t, b.Addr())
	relay.OnRequest(func(name string, args []string) {
		if world.OperationOf(name, args) == "break" {
			relay.DropReplies(true)
		}
	})
	// The server knows the script, so the first request is the Break.
	c := redislock.New(b.Client(t))
	t.Cleanup(c.Close)
	check.Must[[]redislock.Holder](t)(c.Break(t.Context(), []string{key + "free"}, ""))
	stdout, stderr, status := runTool(t, "break", "--yes", key, "--redis", "redis://"+relay.Addr()+"?read_timeout=2s&max_retries=-1")
	wantStatus(t, status, 69, stdout, stderr, "it is not known whether "+key+" was broken")
}

// A dry run says who would lose the key, and takes nothing.
func TestBreakDry(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	client := redislock.New(server.Client(t))
	t.Cleanup(client.Close)
	lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Hour, &redislock.Options{Metadata: "host=web-3"}))
	stdout, stderr, status := runTool(t, "break", "--dry-run", "--redis", server.Addr(), "k")
	if status != 0 || !strings.HasPrefix(stdout, "k: write-locked by host=web-3") || stderr != "nothing was broken: it is a dry run\n" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	stdout, _, _ = runTool(t, "break", "--dry-run", "--json", "--redis", server.Addr(), "k")
	if found := objects(t, stdout); len(found) != 1 || found[0]["dry_run"] != true || len(found[0]["broken"].([]any)) != 1 {
		t.Errorf("got %s", stdout)
	}
	if _, err := lock.TTL(t.Context()); err != nil {
		t.Errorf("the lock is gone: %v", err)
	}
	if stdout, _, status := runTool(t, "break", "-y", "--redis", server.Addr(), "k"); status != 0 || !strings.HasPrefix(stdout, "k: taken from host=web-3") {
		t.Errorf("-y: status %d, %q", status, stdout)
	}
}
