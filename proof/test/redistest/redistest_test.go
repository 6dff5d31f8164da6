// Package redistest_test has the tests of the servers that tests use: that they start, do what they are told, and leave
// neither processes nor files, however a test binary ends.
package redistest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// once makes a client that doesn't repeat a command, and waits for the answer: else see inVain.
func once(opt *redis.Options) {
	opt.MaxRetries, opt.DialerRetries = -1, 1
	opt.ReadTimeout = 20 * time.Second
	opt.PoolSize = 1
}

// inVain is the client for a command that is not to be answered.
func inVain(c *redis.Client) *redis.Client { return c.WithTimeout(300 * time.Millisecond) }

func refused(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	return err != nil
}

func TestServerLife(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		ctx := t.Context()
		begin := time.Now()
		s := redistest.Start(t, kind, "--hz", "50")
		t.Logf("started in %v", time.Since(begin))
		c := s.Client(t, once)

		info := c.InfoMap(ctx, "server").Val()["Server"]
		if got, want := info["process_id"], fmt.Sprint(s.PID()); got != want {
			t.Errorf("process_id = %s, want %s", got, want)
		}
		if got, want := info["tcp_port"], fmt.Sprint(s.Port()); got != want {
			t.Errorf("tcp_port = %s, want %s", got, want)
		}
		if got := c.ConfigGet(ctx, "hz").Val()["hz"]; got != "50" {
			t.Errorf("hz = %q, want the extra argument's 50", got)
		}

		if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		s.Pause()
		if err := inVain(c).Get(ctx, "k").Err(); err == nil {
			t.Error("paused server answers")
		}
		s.Resume()
		if got, err := c.Get(ctx, "k").Result(); got != "v" || err != nil {
			t.Errorf("after Resume: %q, %v", got, err)
		}

		pid := s.PID()
		s.Kill()
		s.Kill()
		if !refused(s.Addr()) {
			t.Error("killed server takes connections")
		}
		s.Restart("--hz", "60")
		if s.PID() == pid {
			t.Error("same process after Restart")
		}
		if got := c.Exists(ctx, "k").Val(); got != 0 {
			t.Error("not empty after Restart")
		}
		if got := c.ConfigGet(ctx, "hz").Val()["hz"]; got != "60" {
			t.Errorf("hz after Restart = %q, want 60", got)
		}
		s.Pause()
		s.Stop()
		s.Stop()
		if !refused(s.Addr()) {
			t.Error("stopped server takes connections")
		}
	})
}

func TestServerWithPassword(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := redistest.Start(t, kind, "--requirepass", "secret")
		c := s.Client(t, func(opt *redis.Options) { opt.Password = "secret" })
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	})
}

func TestServerBadArgument(t *testing.T) {
	t.Parallel()
	redistest.Need(t, "redis-server")
	s, err := redistest.Launch(redistest.Redis, "--no-such-option", "1")
	if err == nil {
		s.Stop()
		t.Fatal("started with a bad argument")
	}
	if !strings.Contains(err.Error(), "the process ended") {
		t.Errorf("got error %v", err)
	}
}

// A server's life must not depend on the thread that asked for it.
func TestServerOutlivesThread(t *testing.T) {
	t.Parallel()
	redistest.Need(t, "redis-server")
	type result struct {
		s   *redistest.Server
		err error
	}
	// Two threads at the same time, because a process's first one never ends.
	const n = 2
	started := make(chan result, n)
	var locked sync.WaitGroup
	locked.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
			locked.Done()
			locked.Wait()
			s, err := redistest.Launch(redistest.Redis)
			started <- result{s, err}
		}()
	}
	for range n {
		r := <-started
		if r.err != nil {
			t.Error(r.err)
			continue
		}
		defer r.s.Stop()
		c := r.s.Client(t, once)
		// Without a thread of its own the server is dead within a millisecond.
		for range 50 {
			if err := c.Ping(t.Context()).Err(); err != nil {
				t.Error(err)
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}

func init() {
	redistest.RegisterRole("owner", func(args []string) {
		// A killed process cannot remove its directory.
		if err := os.Setenv("TMPDIR", args[0]); err != nil {
			fmt.Println(err)
			return
		}
		s, err := redistest.Launch(redistest.Redis)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Addr())
		select {}
	})
}

func TestServerDiesWithParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only the Linux kernel does this")
	}
	redistest.Need(t, "redis-server")
	p := redistest.StartRole(t, "owner", t.TempDir())
	addr, err := p.ReadLine(20 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if refused(addr) {
		t.Fatalf("no server at %q", addr)
	}
	p.Kill()
	check.Eventually(t, 20*time.Second, "the server of a killed process dies", func() bool { return refused(addr) })
}

func TestMiniClock(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := redistest.StartMini(t).Client(t)
	begin := time.Now()
	if err := c.Set(ctx, "k", "v", 60*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	check.Eventually(t, 20*time.Second, "the key expires", func() bool { return c.Exists(ctx, "k").Val() == 0 })
	if got := time.Since(begin); got < 60*time.Millisecond {
		t.Errorf("expired after %v of 60ms", got)
	}
}

func TestMiniInBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		c := redistest.PipeMini(t).Client(t)
		if err := c.Set(ctx, "k", "v", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour - time.Second)
		if got := c.PTTL(ctx, "k").Val(); got != time.Second {
			t.Errorf("got ttl %v, want 1s", got)
		}
		time.Sleep(time.Second)
		if got := c.Exists(ctx, "k").Val(); got != 0 {
			t.Error("key is still there after an hour")
		}
	})
}

// A client that waits for one of its connections uses a timer that go-redis shares among all bubbles, which do not bear it.
func TestMiniInBubbleHasConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := redistest.PipeMini(t).Client(t)
		for range 100 {
			conn := c.Conn()
			defer conn.Close()
			if err := conn.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if stats := c.PoolStats(); stats.WaitCount != 0 || stats.Timeouts != 0 {
			t.Errorf("waited %d times for a connection, %d times in vain", stats.WaitCount, stats.Timeouts)
		}
	})
}

func TestEach(t *testing.T) {
	t.Parallel()
	kinds := make(chan redistest.Kind, 3)
	t.Run("group", func(t *testing.T) {
		redistest.Each(t, func(t *testing.T, b redistest.Backend) {
			if again := redistest.Shared(t, b.Kind()); again != b {
				t.Error("Shared started a second server")
			}
			if got, want := t.Name(), "TestEach/group/"+string(b.Kind()); got != want {
				t.Errorf("got name %s, want %s", got, want)
			}
			c := b.Client(t)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := c.Set(ctx, t.Name(), "v", 30*time.Millisecond).Err(); err != nil {
				t.Fatal(err)
			}
			check.Eventually(t, 20*time.Second, "a ttl runs", func() bool { return c.Exists(ctx, t.Name()).Val() == 0 })
			kinds <- b.Kind()
		})
	})
	for _, program := range []string{"redis-server", "valkey-server"} {
		if _, err := exec.LookPath(program); err != nil {
			return
		}
	}
	want := 2 // without REDISLOCK_TESTS=all
	if redistest.Everything() {
		want = 3
	}
	if got := len(kinds); got != want {
		t.Errorf("got %d kinds, want %d", got, want)
	}
}

// recorder notes how a test would have ended.
type recorder struct {
	testing.TB
	end string
}

func (r *recorder) Helper()      {}
func (r *recorder) Skip(...any)  { r.end += "skip"; panic(r) }
func (r *recorder) Fatal(...any) { r.end += "fatal"; panic(r) }

// run calls fn as far as a test would have come.
func (r *recorder) run(fn func()) {
	defer func() { _ = recover() }()
	fn()
}

func TestNeed(t *testing.T) {
	for _, tt := range []struct{ ci, program, want string }{
		{"", "no-such-program", "skip"},
		{"true", "no-such-program", "fatal"},
		{"true", "sh", ""},
	} {
		t.Setenv("CI", tt.ci)
		r := &recorder{}
		r.run(func() { redistest.Need(r, tt.program) })
		if r.end != tt.want {
			t.Errorf("CI=%q %s: got %q, want %q", tt.ci, tt.program, r.end, tt.want)
		}
	}
}

// TestLeakFixture leaves something behind when TestMainFindsLeaks asks for it.
func TestLeakFixture(t *testing.T) {
	switch os.Getenv("REDISTEST_LEAK") {
	case "goroutine":
		go leakedGoroutine(make(chan struct{}))
	case "client":
		leakedClient = redis.NewClient(&redis.Options{Addr: redistest.Shared(t, redistest.Miniredis).Addr()})
		if err := leakedClient.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

var leakedClient *redis.Client

func leakedGoroutine(forever chan struct{}) { <-forever }

func TestMainFindsLeaks(t *testing.T) {
	t.Parallel()
	for leak, want := range map[string]string{"": "", "goroutine": "leakedGoroutine", "client": "sockets"} {
		t.Run("leak="+leak, func(t *testing.T) {
			t.Parallel()
			out, err := redistest.Rerun(t, []string{"REDISTEST_LEAK=" + leak}, "-test.run=^TestLeakFixture$")
			var exit *exec.ExitError
			switch {
			case want == "" && err != nil:
				t.Errorf("fails without a leak: %v\n%s", err, out)
			case want != "" && !errors.As(err, &exit):
				t.Errorf("got %v, want a failure\n%s", err, out)
			case want != "" && (exit.ExitCode() != 1 || !strings.Contains(string(out), want)):
				t.Errorf("exit code %d, want 1 and %q in\n%s", exit.ExitCode(), want, out)
			}
		})
	}
}

// What a server has kept on disk outlives a restart, unless it is wiped away.
func TestServerWipe(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := redistest.Start(t, kind, "--appendonly", "yes", "--appendfsync", "always")
		c := s.Client(t)
		if err := c.Set(t.Context(), "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
		s.Kill()
		s.Restart()
		if got := c.Get(t.Context(), "key").Val(); got != "value" {
			t.Errorf("after a restart: got %q", got)
		}
		s.Wipe()
		s.Restart()
		if err := c.Get(t.Context(), "key").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("after a wipe: got %v, want no such key", err)
		}
	})
}
