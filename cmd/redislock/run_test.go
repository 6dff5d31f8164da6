//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestRunStatus(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, status := range []int{0, 1, 2, 7, 64, 65, 69, 75, 77, 79, 125, 126, 127, 128, 130, 255} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			c := p.run(t.Name(), "--", "sh", "-c", fmt.Sprintf("exit %d", status)).start(t)
			c.want(t, status)
			if c.stderr.String() != "" {
				t.Errorf("stderr is %q, want nothing", &c.stderr)
			}
		})
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGINT, syscall.SIGPIPE} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p.run(t.Name(), "--", "sh", "-c", fmt.Sprintf("kill -%d $$", sig)).start(t).want(t, 128+int(sig))
		})
	}
}

func TestRunPassesData(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell("cat; echo problem >&2")
	data := strings.Repeat("\x00\xffline\n", 50_000)
	c.Stdin = strings.NewReader(data)
	c.start(t).want(t, 0)
	if c.stdout.String() != data {
		t.Errorf("stdout has %d bytes, want the %d of stdin", len(c.stdout.String()), len(data))
	}
	if got, want := c.stderr.String(), "problem\n"; got != want {
		t.Errorf("stderr is %q, want %q", got, want)
	}
	p.wantFree()
}

func TestRunEnvironment(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	script := `echo "$REDISLOCK_FENCE"; echo "$REDISLOCK_KEYS"; eval "set -- $REDISLOCK_KEYS"; for k; do echo "<$k>"; done`
	odd := p.key + " it's\n$HOME"
	fences := make([]int64, 2)
	for i := range fences {
		c := p.run("--no-wait", odd, p.key, "--", "sh", "-c", script).start(t)
		c.want(t, 0)
		lines := strings.SplitN(c.stdout.String(), "\n", 2)
		fences[i] = check.Must[int64](t)(strconv.ParseInt(lines[0], 10, 64))
		quoted := p.key + " '" + strings.ReplaceAll(odd, "'", `'\''`) + "'"
		if want := quoted + "\n<" + p.key + ">\n<" + odd + ">\n"; lines[1] != want {
			t.Errorf("got %q, want %q", lines[1], want)
		}
	}
	if fences[1] <= fences[0] {
		t.Errorf("fencing numbers %d, then %d, want a greater one", fences[0], fences[1])
	}
	inner := p.shell(`echo "$REDISLOCK_FENCE.$REDISLOCK_KEYS"`, "--no-fence")
	inner.Env = append(inner.Env, "REDISLOCK_FENCE=7", "REDISLOCK_KEYS=outer")
	inner.start(t).want(t, 0)
	if got, want := inner.stdout.String(), "."+p.key+"\n"; got != want {
		t.Errorf("without a number, below another redislock run: %q, want %q", got, want)
	}
}

// The URL of the server, which may have a password, goes to the command as everything in the environment does, unless it is
// not to.
func TestRunRedisVariable(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	url := "redis://" + p.addr + "/0"
	for flag, want := range map[string]string{"--no-wait": url, "--no-redis": "none"} {
		c := newProcess(t, "run", flag, p.key+flag, "--", "sh", "-c", `echo "${REDISLOCK_REDIS-none}"`)
		c.Env = append(c.Env, "REDISLOCK_REDIS="+url)
		if c.start(t).want(t, 0); c.stdout.String() != want+"\n" {
			t.Errorf("%s: the command finds %q, want %q", flag, c.stdout.String(), want)
		}
	}
}

// What cannot be run is found out before Redis is asked: there is none.
func TestRunCannotRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	check.NoError(t, os.WriteFile(text, []byte("echo text"), 0o644))
	for _, tt := range []struct {
		command string
		status  int
		err     string
	}{
		{"no-such-command", 127, "no-such-command: not found"},
		{filepath.Join(dir, "nothing"), 127, "not found"},
		{text, 126, "permission denied"},
		{dir, 126, "is a directory"},
	} {
		newProcess(t, "run", "--redis", "redis://127.0.0.1:1", "k", "--", tt.command).start(t).want(t, tt.status, tt.err)
	}
}

func TestRunScripts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	plain, broken := filepath.Join(p.dir, "plain"), filepath.Join(p.dir, "broken")
	check.NoError(t, os.WriteFile(plain, []byte("echo $1; exit 3\n"), 0o755))
	check.NoError(t, os.WriteFile(broken, []byte("#!/no/such/program\n"), 0o755))
	c := p.run(p.key, "--", plain, "word").start(t)
	if c.want(t, 3); c.stdout.String() != "word\n" {
		t.Errorf("a script that does not say of what: %q", &c.stdout)
	}
	p.run(p.key, "--", broken).start(t).want(t, 126, "of what its first line names")
	p.wantFree()
}

func TestRunUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"k true":                        "-- is missing",
		"-- true":                       "no key is given",
		"k --":                          "no command is given",
		"--no-wait --wait 1s k -- true": "exclude each other",
		"--wait 0s k -- true":           "--wait 0s",
		"--ttl 10ms k -- true":          "--ttl 10ms",
		"--grace -1s k -- true":         "--grace -1s",
		"--at-least 9000h k -- true":    "--at-least 9000h",
		"--ttl soon k -- true":          "--ttl",
		"--redis http://x k -- true ":   "the url of the server",
	} {
		if _, stderr, status := runTool(t, append([]string{"run"}, strings.Fields(args)...)...); status != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, stderr %q, want 2 and %q", args, status, stderr, want)
		}
	}
	if _, stderr, status := runTool(t, "run", "k", "", "--", "true"); status != 2 || !strings.Contains(stderr, "key 2 is empty") {
		t.Errorf("empty key: status %d, stderr %q", status, stderr)
	}
	many := append([]string{"run"}, slices.Repeat([]string{"x"}, 3000)...)
	for i := range many[1:] {
		many[i+1] += strconv.Itoa(i)
	}
	if _, stderr, status := runTool(t, append(many, "--", "true")...); status != 2 || !strings.Contains(stderr, "need --no-wait and --no-fence") {
		t.Errorf("3000 keys: status %d, stderr %q", status, stderr)
	}
}

func TestRunRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	holder := p.shell("echo >$D/in; exec sleep 600", "--name", "night shift").start(t)
	p.written("in")
	t.Run("once", func(t *testing.T) {
		p.shell("echo >$D/twice", "--no-wait").start(t).want(t, 75, `prog="night shift"`, fmt.Sprintf("pid=%d", holder.Process.Pid), "user=")
	})
	t.Run("wait", func(t *testing.T) {
		p.shell("echo >$D/twice", "--wait", "2s").start(t).want(t, 75, "within 2s", `prog="night shift"`)
	})
	if p.text("twice") != "" {
		t.Error("the command was run")
	}
	if n := p.waiting(); n != 0 {
		t.Errorf("%d wait in line, want nobody", n)
	}
	check.NoError(t, holder.Process.Signal(syscall.SIGTERM))
	holder.want(t, 143)
	p.wantFree()
	t.Run("no lock", func(t *testing.T) {
		check.NoError(t, p.rdb.HSet(t.Context(), p.key, "a", "b").Err())
		p.shell("true").start(t).want(t, 65, "hash that is no lock")
	})
	t.Run("no server", func(t *testing.T) {
		newProcess(t, "run", "--redis", "redis://127.0.0.1:1", "k", "--", "true").start(t).want(t, 69, "cannot use 127.0.0.1:1")
	})
}

// Those who wait get the lock in the order in which they came.
func TestRunLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.shell("echo >$D/in; cat >/dev/null").piped(t)
	p.written("in")
	waiters := make([]*process, 3)
	for i := range waiters {
		flags := [][]string{nil, {"-w", "600"}, {"--wait", "10m"}}[i]
		waiters[i] = p.shell(fmt.Sprintf("echo %d >>$D/order", i), flags...).start(t)
		check.Eventually(t, soon, "that one more stands in line", func() bool { return p.waiting() == i+1 })
	}
	first.letEnd(t)
	for _, waiter := range waiters {
		waiter.want(t, 0)
	}
	if got, want := p.text("order"), "0\n1\n2\n"; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
	p.wantFree()
}

func TestRunReaders(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	reader := p.shell("echo >$D/in; cat >/dev/null", "--read").piped(t)
	p.written("in")
	p.shell("true", "--read", "--no-wait").start(t).want(t, 0)
	p.shell("true", "--no-wait").start(t).want(t, 75, "is read-locked by host=")
	reader.letEnd(t)
	reader.want(t, 0)
	p.shell("true", "--no-wait").start(t).want(t, 0)
}

func TestRunAtLeast(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.shell("true", "--no-wait", "--at-least", "10m").start(t).want(t, 0)
	p.shell("true", "--no-wait").start(t).want(t, 75, "is kept write-locked after the work of host=")
	if ttl := p.state().TTL; ttl < time.Minute {
		t.Errorf("the key is kept for %v, want minutes", ttl)
	}
}

// The command has what it would have without redislock: no open files of ours, no ignored signals but those of the caller.
func TestRunLeavesNoTrace(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("there is no /proc")
	}
	p := newPlace(t)
	script := `ls /proc/self/fd | tr '\n' ' '; grep -E '^Sig(Blk|Ign)' /proc/self/status`
	outside := p.run(p.key)
	outside.Path, outside.Args = "/bin/sh", []string{"sh", "-c", "trap '' HUP; " + script}
	outside.start(t).want(t, 0)
	inside := p.run(p.key)
	inside.Args = append([]string{"sh", "-c", `trap '' HUP; exec "$@"`, "sh", inside.Path}, inside.Args[1:]...)
	inside.Args = append(inside.Args, "--", "sh", "-c", script)
	inside.Path = "/bin/sh"
	inside.start(t).want(t, 0)
	if got, want := inside.stdout.String(), outside.stdout.String(); got != want {
		t.Errorf("the command has\n%s\nwithout redislock it has\n%s", got, want)
	}
}

// The flags of flock(1): not to wait, to wait for so many seconds, and the status if the lock was not to be had.
func TestRunLikeFlock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	client := redislock.New(server.Client(t))
	t.Cleanup(client.Close)
	check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Hour, nil))
	for flags, want := range map[string]int{"-n": 75, "-n -E 9": 9, "-w 3": 75, "-w 3 -E 0": 0, "-nE 3": 3, "-w 3s": 75} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			args := append(append([]string{"run", "--redis", server.Addr()}, strings.Fields(flags)...), "k", "--", "true")
			if _, stderr, status := runTool(t, args...); status != want || want != 0 && !strings.Contains(stderr, "not obtained") {
				t.Errorf("status %d, want %d, stderr %q", status, want, stderr)
			}
		})
	}
}
