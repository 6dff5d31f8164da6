package main

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// Whoever has read enough closes the pipe. Then a command ends without a word, and leaves nothing on the server.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("not run: no SIGPIPE")
	}
	server := redistest.Start(t, redistest.Redis)
	out, err := runShell(t, "{ redislock demo --redis redis://"+server.Addr()+" readers watchdog conflict; echo $? >&2; } | head -1")
	if want := "redislock demo, on " + server.Addr() + ", database 0\n141\n"; err != nil || out != want {
		t.Errorf("it writes %q, want %q (%v)", out, want, err)
	}
	// On a busy machine a request may not be answered in time. What closes it stands in a line for five minutes.
	rdb := server.Client(t)
	if left := check.WithoutGuards(t.Context(), rdb, rdb.Keys(t.Context(), "*").Val()...); len(left) > 0 {
		t.Errorf("left on the server: %q", left)
	}
}

// No terminal: no colour, no redrawing, whatever TERM is.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "demo", "--quick", "conflict", "readers")
	p.Env = append(p.Env, "TERM=xterm-256color")
	if p.start(t).status(t) != 0 {
		t.Error(&p.stderr)
	}
	if text := p.stdout.String() + p.stderr.String(); strings.ContainsAny(text, "\x1b\r") {
		t.Errorf("escape sequences in %q", text)
	}
}

// Usage texts fit a terminal of 80 columns.
func TestUsageFits(t *testing.T) {
	t.Parallel()
	for _, c := range tool().Commands {
		var o output
		tool().Run(t.Context(), o.streams(), []string{"help", c.Name})
		text := o.out.String()
		for _, e := range c.Examples { // a command line stays whole
			text = strings.Replace(text, "  "+e.Line+"\n", "", 1)
		}
		wantNarrow(t, c.Name, text)
		if !c.Hidden && len(c.Examples) == 0 {
			t.Errorf("%s has no example", c.Name)
		}
		var again bytes.Buffer
		again.Write(o.out.Bytes())
		o = output{}
		if tool().Run(t.Context(), o.streams(), []string{c.Name, "-h"}); o.out.String() != again.String() {
			t.Errorf("%s -h differs from help %s", c.Name, c.Name)
		}
	}
	var o output
	tool().Run(t.Context(), o.streams(), []string{"help"})
	wantNarrow(t, "help", o.out.String())
}

func wantNarrow(t *testing.T, name, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
		if n := len([]rune(line)); n > 80 {
			t.Errorf("%s: %d columns: %s", name, n, line)
		}
	}
}
