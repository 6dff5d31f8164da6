package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// An asked is the tool on a terminal, where somebody answers it.
type asked struct {
	*process
	*tty
}

// ask starts the tool on a terminal of its own.
func ask(t *testing.T, args ...string) *asked {
	t.Helper()
	a := &asked{newProcess(t, args...), newTTY(t, 80, 24)}
	a.run(a.process)
	return a
}

func (a *asked) wantEnd(t *testing.T, status int, parts ...string) {
	t.Helper()
	if got := a.status(t); got != status {
		t.Errorf("exit status %d, want %d\n%s", got, status, a.screen.String())
	}
	for _, part := range parts {
		a.shows(part)
	}
}

// It shows whom it will break and who is next, asks, and says whom it has broken.
func TestBreakAsks(t *testing.T) {
	t.Parallel()
	addr, c, key := shared(t)
	held, next := holdAndWait(c, key)
	a := ask(t, "break", "--redis", "redis://"+addr, "--reason", "the host hangs", key, key+"free")
	a.shows("Break 1 holder of 1 key? [y/N] ")
	a.shows(key + ": write-locked by host=web-3 pid=812 prog=shop, since ")
	a.shows("next in line: host=web-4 pid=97 prog=shop, to write")
	a.shows(key + "free: free")
	a.press("y\n")
	a.wantEnd(t, 0, "taken from host=web-3 pid=812 prog=shop", "now write-locked by host=web-4 pid=97 prog=shop")
	<-held.Done()
	if cause := context.Cause(held); !errors.Is(cause, redislock.ErrBroken) || !strings.Contains(cause.Error(), "the host hangs") {
		t.Errorf("the holder was told %v", cause)
	}
	if _, ok := check.Receive(next, soon); !ok {
		t.Error("the next one has not got the key")
	}
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
			addr, c, key := shared(t)
			lock := c.holds("me", key)
			a := ask(t, "break", "--redis", "redis://"+addr, key)
			a.shows("[y/N] ")
			a.press(tt.text)
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
	addr, c, key := shared(t)
	first := c.holds("the first", key)
	a := ask(t, "break", "--redis", "redis://"+addr, key)
	a.shows("[y/N] ")
	check.NoError(t, first.Release(t.Context()))
	second := c.holds("the second", key)
	a.press("y\n")
	a.showsTimes("[y/N] ", 2)
	a.shows("Meanwhile somebody else has come")
	a.shows("write-locked by the second")
	wantHeld(t, second)
	a.press("n\n")
	a.wantEnd(t, 1, "nothing was broken")
	wantHeld(t, second)
}

// If some of those who were shown have gone it does not ask again.
func TestBreakAsksOnce(t *testing.T) {
	t.Parallel()
	addr, c, key := shared(t)
	one := c.hold(wish{who: "one", keys: []string{key}, read: true})
	c.hold(wish{who: "two", keys: []string{key}, read: true})
	a := ask(t, "break", "--redis", "redis://"+addr, key)
	a.shows("Break 2 holders of 1 key? [y/N] ")
	check.NoError(t, one.Release(t.Context()))
	a.press("y\n")
	a.wantEnd(t, 0, key+": taken from two")
	if strings.Contains(a.screen.String(), "taken from one") {
		t.Errorf("it says that it has broken who had gone:\n%s", a.screen.String())
	}
}

// If nobody holds the keys nobody is asked.
func TestBreakAsksNobody(t *testing.T) {
	t.Parallel()
	addr, _, key := shared(t)
	ask(t, "break", "--redis", "redis://"+addr, key).wantEnd(t, 0, key+": nobody is broken", "now free")
}
