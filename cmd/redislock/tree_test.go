package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

func wantLines(t *testing.T, got string, want ...string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\n   ->", " ->") // a circle may need two lines
	for _, line := range want {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
}

func TestTreeChain(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	w.hold(instance(3), "orders:17")
	w.hold(instance(4), "stock:9", "stock:10")
	w.queue(instance(4), "orders:17")
	w.queue(instance(5), "orders:17", "stock:10")
	w.queueRead(instance(6), "stock:9")
	w.hold(instance(7), "unwanted")
	got, status := tree("--ascii")
	wantLines(t, got, "web-3 pid 813 shop\n`- orders:17, held to write for ", "   |- 1. web-4 pid 814 shop, to write, ",
		"   |  |- stock:10, held to write for ", "   |  |  `- 1. web-5 pid 815 shop, to write, ", "   |  `- stock:9, held", "   |     `- 1. web-6 pid 816 shop, to read, ",
		"   `- 2. web-5 pid 815 shop", "4 keys held, 3 keys waited for, by 3 requests.")
	if status != 0 || strings.Contains(got, "deadlock") {
		t.Errorf("status %d:\n%s", status, got)
	}
	if got, _ := tree("stock:9"); !strings.Contains(got, "1 key held, 1 key waited for, by 1 request.") {
		t.Errorf("with a pattern:\n%s", got)
	}
}

func TestTreeCertainDeadlock(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	w.deadlock(request(31), request(40))
	got, status := tree("--ascii")
	wantLines(t, got, "certain deadlock 1: request-40 -> orders:17 -> request-31 -> stock:9 -> request-40\n", "! deadlock 1",
		"To end it: redislock break --redis redis://"+redistest.Shared(t, redistest.Redis).Addr()+" --prefix "+w.prefix+" stock:9\n")
	if status != 1 {
		t.Errorf("status %d, want 1", status)
	}
	if got, status := tree("--json"); status != 1 || !strings.Contains(got, `{"type":"deadlock","certain":true,`) {
		t.Errorf("status %d:\n%s", status, got)
	}
	if got, status := tree("--html", "-"); status != 1 || strings.Count(got, `<path class="certain"`) != 4 {
		t.Errorf("status %d:\n%s", status, got)
	}
	if got, status := tree("--dot"); status != 1 || strings.Count(got, "penwidth") != 4 {
		t.Errorf("status %d:\n%s", status, got)
	}
	// What it says ends it.
	check.Must[[]redislock.Holder](t)(w.client.Break(t.Context(), []string{"stock:9"}, "deadlock"))
	check.Eventually(t, 20*time.Second, "the circle is over", func() bool { return w.inLine([]string{"orders:17", "stock:9"}) == 1 })
	if got, status := tree(); status != 0 || strings.Contains(got, "deadlock") {
		t.Errorf("after the break: status %d:\n%s", status, got)
	}
}

func TestTreePossibleDeadlock(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	w.deadlock(instance(3), instance(4))
	got, status := tree("--ascii")
	wantLines(t, got, "possible deadlock 1: ", "Not certain: another goroutine of a process may hold the key.")
	if status != 0 || strings.Contains(got, "certain deadlock") {
		t.Errorf("status %d:\n%s", status, got)
	}
}

// Two readers that both insist on writing wait for each other. Upgrade makes one attempt, so it never does.
func TestTreeUpgrade(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	first := w.holdRead(request(31), "orders:17")
	w.holdRead(request(40), "orders:17")
	if err := first.Upgrade(t.Context()); !errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("upgrade: %v", err)
	}
	if got, status := tree(); status != 0 || strings.Contains(got, "deadlock") {
		t.Errorf("after an upgrade: status %d:\n%s", status, got)
	}
	w.queue(request(31), "orders:17")
	w.queue(request(40), "orders:17")
	got, status := tree("--ascii")
	wantLines(t, got, "certain deadlock 1: request-31 -> orders:17 -> request-40 -> orders:17 -> request-31\n")
	if status != 1 {
		t.Errorf("status %d, want 1", status)
	}
}

// A holder that waits under its own token is not in its own way.
func TestTreeSameToken(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	lock := w.hold(request(31), "orders:17")
	w.hold(instance(4), "stock:9")
	w.wait(request(31), w.client.As(lock.Token()).Obtain, []string{"orders:17", "stock:9"})
	got, status := tree()
	if status != 0 || strings.Contains(got, "holds itself") || strings.Contains(got, "deadlock") {
		t.Errorf("status %d:\n%s", status, got)
	}
	w.queue(instance(5), "orders:17")
	if got, status := tree(); status != 0 {
		t.Errorf("with another behind it: status %d:\n%s", status, got)
	}
}

// A caller that waits for its key under another token is in its own way, whatever else is.
func TestTreeOtherToken(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	w.hold(request(31), "orders:17")
	w.hold(instance(4), "stock:9")
	w.queue(request(31), "orders:17", "stock:9")
	got, status := tree("--ascii")
	wantLines(t, got, "certain deadlock 1: request-31 -> orders:17 -> request-31\n")
	if status != 1 {
		t.Errorf("status %d, want 1", status)
	}
}

// Whoever waits under the token with which it holds a key is one owner, with metadata or without, to write or to read.
func TestTreeTokens(t *testing.T) {
	t.Parallel()
	for name, metadata := range map[string]string{"of nobody known": "", "of one process": instance(3).metadata} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, tree := sharedWaiting(t)
			for token, key := range map[string]string{"own-a": "orders:17", "own-b": "stock:9"} {
				opt := &redislock.Options{Metadata: metadata}
				lock, err := w.client.As(token).ObtainRead(t.Context(), []string{key}, longTTL, opt)
				check.NoError(t, err)
				w.locks = append(w.locks, lock)
			}
			w.wait(who{metadata: metadata}, w.client.As("own-a").Obtain, []string{"stock:9"})
			w.wait(who{metadata: metadata}, w.client.As("own-b").Obtain, []string{"orders:17"})
			got, status := tree("--ascii")
			wantLines(t, got, "certain deadlock 1: token ", " -> orders:17 -> token ", " -> stock:9 -> token ")
			if status != 1 || strings.Contains(got, "own-") {
				t.Errorf("status %d:\n%s", status, got)
			}
		})
	}
}

func TestTreeSelf(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	w.hold(request(31), "orders:17")
	w.queue(request(31), "orders:17")
	got, status := tree("--ascii")
	wantLines(t, got, "certain deadlock 1: request-31 -> orders:17 -> request-31\n")
	if status != 1 {
		t.Errorf("status %d, want 1", status)
	}
}

// The owners of package reentrant have ids, and never wait for what they hold themselves.
func TestTreeReentrant(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	queue := &redislock.Options{Queue: true}
	var all sync.WaitGroup
	var owners []context.Context
	for _, key := range []string{"a", "b"} {
		ctx := reentrant.NewOwner(w.ctx)
		owners = append(owners, ctx)
		for range 2 {
			hold := check.Must[*reentrant.Hold](t)(reentrant.Obtain(ctx, w.client, []string{key}, longTTL, queue))
			t.Cleanup(func() { _ = hold.Release(context.Background()) })
		}
	}
	for i, key := range []string{"b", "a"} {
		all.Go(func() {
			if inner, err := reentrant.Obtain(owners[i], w.client, []string{key}, longTTL, queue); err == nil {
				_ = inner.Release(context.Background())
			}
		})
	}
	t.Cleanup(func() {
		w.cancel()
		all.Wait()
	})
	check.Eventually(t, 20*time.Second, "both wait", func() bool { return w.inLine([]string{"a", "b"}) == 2 })
	got, status := tree("--ascii")
	wantLines(t, got, "certain deadlock 1: ", " -> a -> ", " -> b -> ")
	if status != 1 || strings.Contains(got, "deadlock 2") {
		t.Errorf("status %d:\n%s", status, got)
	}
}

func TestTreeIntentAndLeft(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	w.holdRead(instance(3), "orders:17")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = w.client.Obtain(w.ctx, []string{"orders:17"}, longTTL, &redislock.Options{
			Metadata: instance(4).metadata, Intent: true, RetryStrategy: redislock.LinearBackoff(5 * time.Second),
		})
	}()
	t.Cleanup(func() {
		w.cancel()
		<-ended
	})
	left := w.hold(instance(5), "stock:9")
	check.NoError(t, left.Leave(t.Context(), 5*time.Minute))
	w.queue(instance(6), "stock:9")
	check.Eventually(t, 20*time.Second, "there is an intent", func() bool {
		return check.Must[[]redislock.KeyState](t)(w.client.Inspect(t.Context(), []string{"orders:17"}))[0].Intent != nil
	})
	got, status := tree("--ascii")
	wantLines(t, got, "`- intent: web-4 pid 814 shop, to write\n", "stock:9, left by its holder, free in ", "`- 1. web-6 pid 816 shop")
	if status != 0 {
		t.Errorf("status %d:\n%s", status, got)
	}
}

func init() {
	redistest.RegisterRole("tree-waiter", func(args []string) {
		client := redislock.New(redis.NewClient(&redis.Options{Addr: args[0]}), redislock.WithKeyPrefix(args[1]))
		ctx := redislock.WithCaller(context.Background(), "request-40")
		_, err := client.Obtain(ctx, []string{"orders:17"}, longTTL, &redislock.Options{Queue: true})
		fmt.Println(err)
	})
}

// A waiter whose process was killed is passed over when it has been silent for long enough, and the deadlock is over with it.
func TestTreeDeadWaiter(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	const prefix = "dead:"
	w := newWaiting(t, redis.NewClient(&redis.Options{Addr: server.Addr()}), prefix)
	w.hold(request(31), "orders:17")
	w.hold(request(40), "stock:9")
	w.queue(request(31), "stock:9")
	waiter := redistest.StartRole(t, "tree-waiter", server.Addr(), prefix)
	check.Eventually(t, 20*time.Second, "it stands in line", func() bool { return w.inLine([]string{"orders:17"}) == 1 })
	tree := func() (string, int) {
		stdout, _, status := runTool(t, "tree", "--redis", "redis://"+server.Addr(), "--prefix", prefix)
		return stdout, status
	}
	if got, status := tree(); status != 1 {
		t.Errorf("while it lives: status %d:\n%s", status, got)
	}
	waiter.Kill()
	_ = waiter.Wait()
	check.Eventually(t, time.Minute, "it counts as gone", func() bool {
		line := check.Must[[]redislock.KeyState](t)(w.client.Inspect(t.Context(), []string{"orders:17"}))[0].Line
		return len(line) == 0 || !line[0].Alive
	})
	got, status := tree()
	wantLines(t, got, "1 waiter gone, and passed over.")
	if status != 0 || strings.Contains(got, "deadlock") {
		t.Errorf("status %d:\n%s", status, got)
	}
}

// The keys of a circle are in different slots, on different masters.
func TestTreeCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
	w := newWaiting(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()}), "")
	keys := []string{"a", "b"} // slots 15495 and 3300
	if cluster.MasterOf(keys[0]) == cluster.MasterOf(keys[1]) {
		t.Fatal("one master has both keys")
	}
	w.hold(request(31), "a")
	w.hold(request(40), "b")
	w.queue(request(31), "b")
	w.queue(request(40), "a")
	addrs := cluster.Addrs()
	stdout, stderr, status := runTool(t, "tree", "--ascii", "--redis", "redis://"+addrs[0]+"?addr="+addrs[1])
	wantLines(t, stdout, "certain deadlock 1: ", "2 keys held, 2 keys waited for, by 2 requests.")
	if status != 1 || stderr != "" {
		t.Errorf("status %d, stderr %q:\n%s", status, stderr, stdout)
	}
}

// Whatever keys are called, nothing of that reaches a terminal as it is.
func TestTreeStrangeKeys(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	key := "a\x1b]0;x\a\n{\"\xff "
	w.hold(who{"meta\x1b[2J\n", ""}, key)
	w.queue(instance(3), key)
	for _, args := range []string{"", "--full", "--dot", "--html -", "--json"} {
		got, status := tree(strings.Fields(args)...)
		if status != 0 || strings.Contains(got, "\x1b") || strings.Contains(got, "\a") {
			t.Errorf("%s: status %d: %q", args, status, got)
		}
	}
}

func TestTreeUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"tree a b":              "there is one pattern at most, and here are 2",
		"tree --dot --json":     "--dot, --html and --json exclude each other",
		"tree --html x --json":  "--dot, --html and --json exclude each other",
		"tree --dot --html x":   "--dot, --html and --json exclude each other",
		"tree --waiters -1":     "--waiters is a number of waiters",
		"tree --redis http://x": "the url of the server is such as",
	} {
		if stdout, stderr, status := runTool(t, strings.Fields(args)...); status != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
	if _, stderr, status := runTool(t, "tree", "--redis", "redis://127.0.0.1:1"); status != 69 || !strings.Contains(stderr, "127.0.0.1:1") {
		t.Errorf("no server: status %d, stderr %q", status, stderr)
	}
}

// Nobody waits on an empty server.
func TestTreeEmpty(t *testing.T) {
	t.Parallel()
	_, tree := sharedWaiting(t)
	for args, want := range map[string]string{"": "0 keys held, 0 keys waited for, by 0 requests.\n", "--json": ""} {
		if got, status := tree(strings.Fields(args)...); got != want || status != 0 {
			t.Errorf("%s: status %d, %q", args, status, got)
		}
	}
}
