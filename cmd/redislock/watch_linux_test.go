package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A scene is a server with locks that are held and waited for.
type scene struct {
	*redistest.Server
	client *redislock.Client
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := redistest.Start(t, redistest.Redis)
	return &scene{s, redislock.New(s.Client(t))}
}

// hold obtains a key, for longer than the test takes.
func (s *scene) hold(t *testing.T, key, metadata string) {
	t.Helper()
	check.Must[*redislock.Lock](t)(s.client.Obtain(t.Context(), []string{key}, time.Hour, &redislock.Options{Metadata: metadata}))
}

// queue stands in line for a key until the test ends. It returns when the line has so many.
func (s *scene) queue(t *testing.T, key, metadata string, length int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if lock, err := s.client.Obtain(world.Apart(ctx), []string{key}, time.Hour, &redislock.Options{Metadata: metadata, Queue: true, Wait: time.Hour}); err == nil {
			_ = lock.Release(context.WithoutCancel(ctx))
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	check.Eventually(t, soon, metadata+" stands in line", func() bool {
		states, err := s.client.Inspect(t.Context(), []string{key})
		return err == nil && len(states[0].Line) >= length
	})
}

// watchIn runs the tool in a terminal.
func watchIn(t *testing.T, s *scene, width, height int, args ...string) (*pty, *process) {
	t.Helper()
	p := newPTY(t, width, height)
	args = append([]string{"watch", "-redis", "redis://" + s.Addr(), "-every", "200ms"}, args...)
	return p, p.run(t, newProcess(t, args...))
}

func TestWatchScreen(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.hold(t, "orders:17", "host=web-3 pid=812")
	s.hold(t, "stock:9", "host=web-1 pid=77")
	s.hold(t, "a{}\x1b[2J世界", "evil \x1b]0;x\a")
	s.queue(t, "stock:9", "host=web-2 pid=5", 1)
	s.queue(t, "stock:9", "host=web-2 pid=6", 2)
	p := newPTY(t, 80, 24)
	before := p.modes(t)
	process := p.run(t, newProcess(t, "watch", "-redis", "redis://"+s.Addr(), "-every", "200ms"))

	p.awaitText(t, "3 keys: 3 held (0 read), 1 line, 2 waiters", "stock:9: 2 waiters, the first for", "of 5000 commands/s", `"a{}\x1b[2J世界"`)
	if line, y := p.lineWith("stock:9"); y != 2 || !strings.HasPrefix(line, "  stock:9 ") || !strings.Contains(line, "write host=web-1 pid=77") {
		t.Errorf("line %d is %q, want the key that others wait for first, and whole", y, line)
	}
	if !p.Mode().Other || !p.Mode().Hidden || !p.Mode().Nowrap {
		t.Errorf("the terminal is %+v, want a screen of its own", p.Mode())
	}
	t.Run("sort", func(t *testing.T) {
		p.press(t, "K")
		p.await(t, "the keys are sorted", func(string) bool { _, y := p.lineWith("orders:17"); return y == 3 })
		p.awaitText(t, "KEY<")
		p.press(t, "r")
		p.await(t, "the keys are sorted the other way round", func(string) bool { _, y := p.lineWith("stock:9 "); return y == 2 })
		p.awaitText(t, "KEY>")
	})
	t.Run("filter", func(t *testing.T) {
		p.press(t, "/WEB-3")
		p.await(t, "one row is left", func(screen string) bool {
			return strings.Contains(screen, "orders:17") && !strings.Contains(screen, "web-1")
		})
		p.press(t, "\x1b")
		p.awaitText(t, "web-1")
	})
	t.Run("key", func(t *testing.T) {
		p.press(t, "S\r")
		p.awaitText(t, "mode     write", "holder   host=web-1 pid=77", "line      1  host=web-2 pid=5", "          2  host=web-2 pid=6")
		p.press(t, "\x1b")
		p.awaitText(t, "HOLDER")
	})
	t.Run("help", func(t *testing.T) {
		p.press(t, "?")
		p.awaitText(t, "keys and columns", "pause: nothing is asked", "the others by turns")
		p.press(t, "\x1b")
		p.awaitText(t, "HOLDER")
	})
	t.Run("pause", func(t *testing.T) {
		p.press(t, "p")
		p.awaitText(t, "paused")
		s.queue(t, "stock:9", "host=web-2 pid=7", 3)
		if _, y := p.lineWith("3 waiters"); y >= 0 {
			t.Error("the screen goes on while it is paused")
		}
		p.press(t, "p")
		p.awaitText(t, "1 line, 3 waiters")
	})
	t.Run("resize", func(t *testing.T) {
		p.resize(t, 40, 10)
		p.await(t, "the last line is the tenth", func(screen string) bool {
			lines := strings.Split(screen, "\n")
			return len(lines) == 11 && strings.Contains(lines[9], "127.0.0.1") && !strings.Contains(screen, "HANDED")
		})
		p.resize(t, 120, 30)
		p.awaitText(t, "HANDED/S", "h help, q quit")
		p.await(t, "the last line is the thirtieth", func(screen string) bool { return strings.Contains(strings.Split(screen, "\n")[29], "quit") })
	})
	p.press(t, "q")
	if status := process.status(t); status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
	p.isRestored(t, before)
}

// On every way out the terminal is as it was.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.hold(t, "orders:17", "me")
	for _, tt := range []struct {
		name   string
		key    string         // that is pressed
		signal syscall.Signal // or this is sent
		status int
	}{
		{"quit", "q", 0, 0},
		{"interrupt", "\x03", 0, 130},
		{"sigquit", "\x1c", 0, 130},
		{"sigterm", "", syscall.SIGTERM, 130},
		{"sighup", "", syscall.SIGHUP, 130},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPTY(t, 80, 24)
			before := p.modes(t)
			process := p.run(t, newProcess(t, "watch", "-redis", "redis://"+s.Addr()))
			p.awaitText(t, "orders:17")
			if p.press(t, tt.key); tt.signal != 0 {
				check.NoError(t, process.Process.Signal(tt.signal))
			}
			if status := process.status(t); status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			p.isRestored(t, before)
		})
	}
}

// Ctrl-Z gives the terminal to the shell, and fg brings the screen back.
func TestWatchSuspend(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.hold(t, "orders:17", "me")
	p := newPTY(t, 80, 24)
	before := p.modes(t)
	process := newProcess(t, "-c", `set -m; "$TOOL" watch -redis redis://$ADDR; echo stopped; read word; fg; echo "ended $?"`)
	process.Env = append(process.Env, "TOOL="+process.Path, "ADDR="+s.Addr())
	process.Path, process.Args[0] = "/bin/sh", "sh"
	p.run(t, process)
	p.awaitText(t, "orders:17", "h help")
	p.press(t, "\x1a")
	p.awaitText(t, "stopped")
	p.isRestored(t, before)
	p.press(t, "go\r")
	p.await(t, "the screen is back", func(screen string) bool {
		return p.Mode().Other && strings.Contains(screen, "orders:17") && !strings.Contains(screen, "stopped")
	})
	s.hold(t, "orders:18", "me")
	p.awaitText(t, "orders:18")
	p.press(t, "q")
	p.awaitText(t, "ended 0")
	process.status(t)
	p.isRestored(t, before)
}

// While the server is away the screen says so, and it comes back by itself.
func TestWatchServerAway(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.hold(t, "orders:17", "me")
	p, process := watchIn(t, s, 80, 24)
	p.awaitText(t, "orders:17", "commands/s")
	s.Kill()
	p.awaitText(t, "away since", "trying again")
	s.Restart()
	s.hold(t, "orders:18", "another")
	p.awaitText(t, "orders:18", "commands/s")
	p.await(t, "the server is back", func(screen string) bool { return !strings.Contains(screen, "away") })
	p.press(t, "q")
	if status := process.status(t); status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
}

// What is stuck is red, and the line above the last says why. Without colours it has a sign.
func TestWatchStuck(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	// Nobody renews it, so nothing can be late for that. The first waits for longer than three leases.
	_ = check.Must[*redislock.Lock](t)(s.client.Obtain(t.Context(), []string{"orders:17"}, 75*time.Second, &redislock.Options{Metadata: "host=web-3"}))
	for i := range 30 {
		s.hold(t, fmt.Sprintf("quiet:%d", i), "somebody")
	}
	waitForLong(t, s.Client(t), s.client, "orders:17")
	plain := newPTY(t, 80, 24)
	process := newProcess(t, "watch", "-redis", "redis://"+s.Addr())
	process.Env = append(process.Env, "NO_COLOR=1")
	plain.run(t, process)
	p, _ := watchIn(t, s, 80, 24)
	p.awaitText(t, "1 stuck", "! orders:17", "orders:17: held for ", " leases")
	if !strings.Contains(p.Styles(), "!{1;7;31}") {
		t.Errorf("what is stuck is not red:\n%s", p.Styles())
	}
	plain.awaitText(t, "! orders:17")
	if strings.Contains(plain.Styles(), "31") {
		t.Errorf("NO_COLOR, and there is red:\n%s", plain.Styles())
	}
}

// What is on the screen whatever the clock says.
var (
	durations = regexp.MustCompile(`>?\d+(\.\d+)?(ms|s|m|h|d)(\d+[sm])?\b`)
	numbers   = regexp.MustCompile(`\d+`)
	spaces    = regexp.MustCompile(` +`)
)

// rests matches a screen that does not change any more: it is paused, what it has sent is no longer counted, and the line that
// is drawn last is there to its end.
var rests = regexp.MustCompile(`(?m)^paused \| .* \| 0 of \d+ commands/s \| \S+ ago *$`)

// The picture of the screen in docs/tool.md is what a terminal shows.
func TestWatchPicture(t *testing.T) {
	t.Parallel()
	section := sectionsOf(readPage(t))["watch"]
	_, picture, _ := strings.Cut(section, "```text\n")
	picture, _, has := strings.Cut(picture, "```")
	if !has {
		t.Fatal("the page has no picture of the screen")
	}
	plain := func(text string) string {
		text = numbers.ReplaceAllString(durations.ReplaceAllString(text, "T"), "0")
		return spaces.ReplaceAllString(text, " ")
	}
	s := redistest.Start(t, redistest.Redis)
	watchScene(t, s.Addr())
	p := newPTY(t, 80, strings.Count(picture, "\n"))
	process := p.run(t, newProcess(t, "watch", "-redis", "redis://"+s.Addr(), "-every", "300ms"))
	defer func() {
		if t.Failed() {
			t.Logf("the page shows\n%s", plain(picture))
		}
	}()
	p.await(t, "the screen is as on the page", func(screen string) bool { return plain(screen) == plain(picture) })
	p.press(t, "p") // what is drawn little by little is what is drawn at once
	p.await(t, "all of that is drawn", rests.MatchString)
	before := p.Styles()
	_, _ = p.Write([]byte("\x1b[2J"))
	p.press(t, "\x0c")
	p.await(t, "all is drawn anew", func(string) bool { return p.Styles() == before })
	p.press(t, "q")
	process.status(t)
}
