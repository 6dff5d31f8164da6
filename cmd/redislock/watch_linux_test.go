package main

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/term"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A scene is a server with locks that are held and waited for.
type scene struct {
	*redistest.Server
	*crowd
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := redistest.Start(t, redistest.Redis)
	return &scene{s, newCrowd(t, s.Client(t))}
}

// watchIn runs the tool in a terminal.
func watchIn(t *testing.T, s *scene, width, height int, args ...string) (*tty, *process) {
	t.Helper()
	p := newTTY(t, width, height)
	args = append([]string{"watch", "--redis", "redis://" + s.Addr(), "--every", "200ms"}, args...)
	return p, p.run(newProcess(t, args...))
}

func TestWatchScreen(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.holds("host=web-3 pid=812", "orders:17")
	s.holds("host=web-1 pid=77", "stock:9")
	s.holds("evil \x1b]0;x\a", "a{}\x1b[2J世界")
	s.queues("host=web-2 pid=5", "stock:9")
	s.queues("host=web-2 pid=6", "stock:9")
	p := newTTY(t, 80, 24)
	before := p.modes()
	process := p.run(newProcess(t, "watch", "--redis", "redis://"+s.Addr(), "--every", "200ms"))

	p.awaitText("3 keys: 3 held (0 read), 1 line, 2 waiters", "stock:9: 2 waiters, the first for", "at most 5000 commands/s", `"a{}\x1b[2J世界"`)
	if line, y := p.lineWith("stock:9"); y != 2 || !strings.HasPrefix(line, "  stock:9 ") || !strings.Contains(line, "write host=web-1 pid=77") {
		t.Errorf("line %d is %q, want the key that others wait for first, and whole", y, line)
	}
	// sort
	p.press("K")
	p.await("the keys are sorted", func(string) bool { _, y := p.lineWith("orders:17"); return y == 3 })
	p.awaitText("KEY<")

	// help
	p.press("?")
	p.awaitText("keys and columns", "pause: nothing is asked", "the others by turns")
	p.press("?")
	p.awaitText("HOLDER")

	// pause
	p.press("p")
	p.awaitText("paused")
	s.queues("host=web-2 pid=7", "stock:9")
	if _, y := p.lineWith("3 waiters"); y >= 0 {
		t.Error("the screen goes on while it is paused")
	}
	p.press("p")
	p.awaitText("1 line, 3 waiters")

	// resize
	p.resize(40, 10)
	p.await("the last line is the tenth", func(screen string) bool {
		lines := strings.Split(screen, "\n")
		return len(lines) == 11 && strings.Contains(lines[9], "127.0.0.1") && !strings.Contains(screen, "HANDED")
	})
	p.resize(120, 30)
	p.awaitText("HANDED/S", "h help, q quit")
	p.await("the last line is the thirtieth", func(screen string) bool { return strings.Contains(strings.Split(screen, "\n")[29], "quit") })

	p.quit(process)
	p.isRestored(before)
}

// On every way out the terminal is as it was.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.holds("me", "orders:17")
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
			p := newTTY(t, 80, 24)
			before := p.modes()
			process := p.run(newProcess(t, "watch", "--redis", "redis://"+s.Addr()))
			p.awaitText("orders:17")
			if p.press(tt.key); tt.signal != 0 {
				check.NoError(t, process.Process.Signal(tt.signal))
			}
			if status := process.status(t); status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			p.isRestored(before)
		})
	}
}

// Ctrl-Z gives the terminal to the shell, and fg brings the screen back.
func TestWatchSuspend(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.holds("me", "orders:17")
	p := newTTY(t, 80, 24)
	before := p.modes()
	process := newProcess(t, "-c", `set -m; "$TOOL" watch --redis redis://$ADDR; echo stopped; read word; fg; echo "ended $?"`)
	process.Env = append(process.Env, "TOOL="+process.Path, "ADDR="+s.Addr())
	process.Path, process.Args[0] = "/bin/sh", "sh"
	p.run(process)
	p.awaitText("orders:17", "h help")
	p.press("\x1a")
	p.awaitText("stopped")
	p.isRestored(before)
	p.press("go\r")
	p.await("the screen is back", func(screen string) bool {
		return p.isOther() && strings.Contains(screen, "orders:17") && !strings.Contains(screen, "stopped")
	})
	s.holds("me", "orders:18")
	p.awaitText("orders:18")
	p.press("q")
	p.awaitText("ended 0")
	process.status(t)
	p.isRestored(before)
}

// Whoever stops the process, and changes the terminal meanwhile: when it goes on it has its screen and its keys.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := newTTY(t, 80, 24)
	before := p.modes()
	process := p.run(newProcess(t, "watch", "--redis", "redis://"+s.Addr()))
	p.awaitText("no key is locked")
	check.NoError(t, process.Process.Signal(syscall.SIGSTOP))
	check.NoError(t, term.Restore(int(p.slave.Fd()), before))
	check.NoError(t, process.Process.Signal(syscall.SIGCONT))
	p.await("keys are given at once", func(string) bool { return !reflect.DeepEqual(p.modes(), before) })
	p.press("h")
	p.awaitText("keys and columns")
	p.quit(process)
	p.isRestored(before)
}

// While the server is away the screen says so, and it comes back by itself.
func TestWatchServerAway(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.holds("me", "orders:17")
	p, process := watchIn(t, s, 80, 24)
	p.awaitText("orders:17", "commands/s")
	s.Kill()
	p.awaitText("away since", "trying again")
	s.Restart()
	s.holds("another", "orders:18")
	p.awaitText("orders:18", "commands/s")
	p.await("the server is back", func(screen string) bool { return !strings.Contains(screen, "away") })
	p.quit(process)
}

// What is stuck is red, and the line above the last says why. Without colours it has a sign.
func TestWatchStuck(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	// Nobody renews it, so nothing can be late for that. The first waits for longer than three leases.
	s.hold(wish{who: "host=web-3", keys: []string{"orders:17"}, ttl: 75 * time.Second})
	for i := range 30 {
		s.holds("somebody", fmt.Sprintf("quiet:%d", i))
	}
	waitForLong(s.crowd, "orders:17")
	plain := newTTY(t, 80, 24)
	process := newProcess(t, "watch", "--redis", "redis://"+s.Addr())
	process.Env = append(process.Env, "NO_COLOR=1")
	plain.run(process)
	p, _ := watchIn(t, s, 80, 24)
	p.awaitText("1 stuck", "! orders:17", "orders:17: held for ", " leases")
	if !strings.Contains(p.screen.String(), "\x1b[0;1;31;7m!") {
		t.Error("what is stuck is not red")
	}
	plain.awaitText("! orders:17")
	if strings.Contains(plain.screen.String(), ";31") {
		t.Error("NO_COLOR, and there is red")
	}
}

// What is on the screen whatever the clock says.
var (
	durations = regexp.MustCompile(`>?\d+(\.\d+)?(ms|s|m|h|d)(\d+[sm])?\b`)
	numbers   = regexp.MustCompile(`\d+`)
	spaces    = regexp.MustCompile(` +`)
)

// The picture of the screen in docs/stuck.md is what a terminal shows.
func TestWatchPicture(t *testing.T) {
	t.Parallel()
	_, picture, _ := strings.Cut(readPages(t)["docs/stuck.md"], "```text\n")
	picture, _, has := strings.Cut(picture, "```")
	if !has {
		t.Fatal("the page has no picture of the screen")
	}
	plain := func(text string) string {
		text = numbers.ReplaceAllString(durations.ReplaceAllString(text, "T"), "0")
		return spaces.ReplaceAllString(text, " ")
	}
	s := newScene(t)
	watchScene(s.crowd)
	p := newTTY(t, 80, strings.Count(picture, "\n"))
	process := p.run(newProcess(t, "watch", "--redis", "redis://"+s.Addr(), "--every", "300ms"))
	defer func() {
		if t.Failed() {
			t.Logf("the page shows\n%s", plain(picture))
		}
	}()
	p.await("the screen is as on the page", func(screen string) bool { return plain(screen) == plain(picture) })
	p.press("p")
	p.awaitText("paused | ") // nothing changes from then on
	before := p.frames()
	check.NoError(t, process.Process.Signal(syscall.SIGWINCH))
	p.await("all is drawn anew", func(string) bool { return len(p.frames()) > len(before) })
	p.press("zzh") // z does nothing, so nothing is drawn
	p.awaitText("keys and columns")
	if after := p.frames(); len(after) != len(before)+2 || after[len(before)] != before[len(before)-1] {
		t.Errorf("%d frames, and then %d, want the last once more, and the help", len(before), len(after))
	}
	p.quit(process)
}

// Keys are read from the terminal also where the tool is given something else to read.
func TestWatchReadsTerminal(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := newTTY(t, 80, 24)
	before := p.modes()
	process := newProcess(t, "watch", "--redis", "redis://"+s.Addr())
	process.Stdin = strings.NewReader("q")
	p.run(process)
	p.awaitText("no key is locked", "h help, q quit")
	p.press("h")
	p.awaitText("keys and columns")
	p.quit(process)
	p.isRestored(before)
}

// Where no shell could let it go on Ctrl-Z does nothing.
func TestWatchSuspendNowhere(t *testing.T) {
	t.Parallel()
	p, process := watchIn(t, newScene(t), 80, 24)
	p.awaitText("no key is locked")
	p.press("\x1a")
	p.press("h")
	p.awaitText("keys and columns")
	p.quit(process)
}
