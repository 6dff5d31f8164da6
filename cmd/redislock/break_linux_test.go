package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// An asked is the tool on a terminal, where somebody answers it.
type asked struct {
	*process
	master *os.File
	screen written
}

// ask starts the tool on a new pseudo-terminal, which is its controlling one.
func ask(t *testing.T, args ...string) *asked {
	t.Helper()
	a := &asked{process: newProcess(t, args...)}
	a.master = check.Must[*os.File](t)(os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0))
	t.Cleanup(func() { a.master.Close() })
	var number, unlocked uint32
	for request, to := range map[uintptr]unsafe.Pointer{
		syscall.TIOCSPTLCK: unsafe.Pointer(&unlocked), syscall.TIOCGPTN: unsafe.Pointer(&number),
	} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, a.master.Fd(), request, uintptr(to)); errno != 0 {
			t.Fatalf("no pseudo-terminal: %v", errno)
		}
	}
	tty := check.Must[*os.File](t)(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0))
	defer tty.Close()
	a.Stdin, a.Stdout, a.Stderr = tty, tty, tty
	a.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	a.start(t)
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := a.master.Read(buffer)
			_, _ = a.screen.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	return a
}

// shows waits until the screen has a text so many times.
func (a *asked) shows(t *testing.T, text string, times int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); strings.Count(a.screen.String(), text) < times; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the screen does not show %q %d times:\n%s", text, times, a.screen.String())
		}
	}
}

// types types.
func (a *asked) types(t *testing.T, text string) {
	t.Helper()
	check.Must[int](t)(a.master.WriteString(text))
}

func (a *asked) wantEnd(t *testing.T, status int, parts ...string) {
	t.Helper()
	if got := a.status(t); got != status {
		t.Errorf("exit status %d, want %d\n%s", got, status, a.screen.String())
	}
	for _, part := range parts {
		a.shows(t, part, 1)
	}
}

// It shows whom it will break and who is next, asks, and says whom it has broken.
func TestBreakAsks(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	crew := holdAndWait(t, rdb, key)
	a := ask(t, "break", "-redis", "redis://"+addr, "-reason", "the host hangs", key, key+"free")
	a.shows(t, "Break 1 holder of 1 key? [y/N] ", 1)
	a.shows(t, key+": write-locked by host=web-3 pid=812 prog=shop, since ", 1)
	a.shows(t, "next in line: host=web-4 pid=97 prog=shop, to write", 1)
	a.shows(t, key+"free: free", 1)
	a.types(t, "y\n")
	a.wantEnd(t, 0, "taken from host=web-3 pid=812 prog=shop", "now write-locked by host=web-4 pid=97 prog=shop")
	crew.wantBroken(t, "the host hangs")
}

// What is not yes is no.
func TestBreakAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text   string
		status int
	}{
		"n": {"n\n", 1}, "nothing": {"\n", 1}, "another word": {"yesterday\n", 1}, "ctrl-d": {"\x04", 1}, "ctrl-c": {"\x03", 130},
		"yes": {"YES\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, rdb, key := shared(t)
			lock := holder(t, rdb, "me", key)
			a := ask(t, "break", "-redis", "redis://"+addr, key)
			a.shows(t, "[y/N] ", 1)
			a.types(t, tt.text)
			a.wantEnd(t, tt.status)
			if tt.status != 0 {
				wantHeld(t, lock)
			}
		})
	}
}

// Whoever has come to hold a key while the question stood is shown before it is broken.
func TestBreakAsksAgain(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	first := holder(t, rdb, "the first", key)
	a := ask(t, "break", "-redis", "redis://"+addr, key)
	a.shows(t, "[y/N] ", 1)
	check.NoError(t, first.Release(t.Context()))
	second := holder(t, rdb, "the second", key)
	a.types(t, "y\n")
	a.shows(t, "[y/N] ", 2)
	a.shows(t, "Meanwhile somebody else has come", 1)
	a.shows(t, "write-locked by the second", 1)
	wantHeld(t, second)
	a.types(t, "n\n")
	a.wantEnd(t, 1, "nothing was broken")
	wantHeld(t, second)
}

// If some of those who were shown have gone it does not ask again.
func TestBreakAsksOnce(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	c := redislock.New(rdb)
	t.Cleanup(c.Close)
	read := func(who string) *redislock.Lock {
		return check.Must[*redislock.Lock](t)(c.ObtainRead(t.Context(), []string{key}, time.Hour, &redislock.Options{Metadata: who}))
	}
	one := read("one")
	read("two")
	a := ask(t, "break", "-redis", "redis://"+addr, key)
	a.shows(t, "Break 2 holders of 1 key? [y/N] ", 1)
	check.NoError(t, one.Release(t.Context()))
	a.types(t, "y\n")
	a.wantEnd(t, 0, key+": taken from two")
	if strings.Contains(a.screen.String(), "taken from one") {
		t.Errorf("it says that it has broken who had gone:\n%s", a.screen.String())
	}
}

// If nobody holds the keys nobody is asked.
func TestBreakAsksNobody(t *testing.T) {
	t.Parallel()
	addr, _, key := shared(t)
	ask(t, "break", "-redis", "redis://"+addr, key).wantEnd(t, 0, key+": nobody is broken", "now free")
}
