package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// output is what a command has written.
type output struct{ out, err bytes.Buffer }

func (o *output) streams() streams { return streams{&o.out, &o.err} }

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args string
		want int
		out  string // stdout has it; empty: stdout is empty
		err  string // the same of stderr
	}{
		{"nothing", "", 2, "", "usage: redislock command"},
		{"unknown command", "dome", 2, "", `unknown command "dome"`},
		{"help", "help", 0, "demo", ""},
		{"help flag", "--help", 0, "demo", ""},
		{"help of a command", "help demo", 0, "-quick", ""},
		{"help flag of a command", "demo -h", 0, "-redis url", ""},
		{"help of nothing", "help dome", 2, "", `unknown command "dome"`},
		{"unknown flag", "demo -slow", 2, "", "-slow"},
		{"unknown act", "demo comedy", 2, "", `unknown act "comedy"`},
		{"not a url", "demo -redis http://localhost", 2, "", "-redis takes a url"},
		{"an act", "demo -quick conflict", 0, "1 of 1 act as promised", ""},
		{"no server", "demo -redis redis://127.0.0.1:1", 1, "", "cannot use the server at 127.0.0.1:1: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var o output
			if got := run(t.Context(), o.streams(), strings.Fields(tt.args)); got != tt.want {
				t.Errorf("exit status %d, want %d", got, tt.want)
			}
			wantText(t, "stdout", o.out.String(), tt.out)
			wantText(t, "stderr", o.err.String(), tt.err)
		})
	}
}

func wantText(t *testing.T, stream, got, want string) {
	t.Helper()
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s is %q, want %q in it", stream, got, want)
	}
}

func TestFailureIsOneLine(t *testing.T) {
	t.Parallel()
	var o output
	run(t.Context(), o.streams(), []string{"demo", "-redis", "redis://127.0.0.1:1"})
	if got := strings.Count(o.err.String(), "\n"); got != 1 {
		t.Errorf("stderr has %d lines, want 1:\n%s", got, &o.err)
	}
}

func TestPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://me:hush@127.0.0.1:1", "redis://me:hush@127.0.0.1:x", "redis://:hush@%zz"} {
		var o output
		if run(t.Context(), o.streams(), []string{"demo", "-redis", url}) == 0 {
			t.Errorf("%s: exit status 0", url)
		}
		if text := o.out.String() + o.err.String(); strings.Contains(text, "hush") {
			t.Errorf("%s: the password is in %q", url, text)
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var o output
	c := command{name: "wait", define: func(*flag.FlagSet) action {
		return func(ctx context.Context, _ streams, _ []string) error { return context.Cause(ctx) }
	}}
	if got := c.exec(ctx, o.streams(), nil); got != exitInterrupted {
		t.Errorf("exit status %d, want %d", got, exitInterrupted)
	}
	wantText(t, "stderr", o.err.String(), "redislock wait: interrupted\n")
}

func TestScreen(t *testing.T) {
	t.Parallel()
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { // where no time passes by itself
			var b bytes.Buffer
			s := &screen{w: &b, live: true, colour: true}
			s.tell("a")
			time.Sleep(framePause - 1)
			s.tell("too soon")
			s.line("b")
			if got, want := b.String(), "\x1b[2m   a\x1b[0m\r\x1b[Kb\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	})
	t.Run("terminal without colour", func(t *testing.T) {
		t.Parallel()
		var b bytes.Buffer
		s := &screen{w: &b, live: true}
		s.flash("a")
		s.settle()
		if got, want := b.String(), "   a\r\x1b[K"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			s := newScreen(&b)
			s.tell("a")
			s.flash("in the way")
			time.Sleep(linePause - 1)
			s.tell("too soon")
			s.verdict(verdict{facts: []string{"b", "c"}})
			s.verdict(verdict{faults: []string{"d", "e"}})
			if got, want := b.String(), "   a\n   ✓ b, c\n   ✗ d; e\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	})
}

func TestColour(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	// The null device is a character device, as a terminal is.
	if s := newScreen(null); !s.live || !s.colour {
		t.Errorf("live %t, colour %t, want both", s.live, s.colour)
	}
	t.Setenv("NO_COLOR", "1")
	if s := newScreen(null); !s.live || s.colour {
		t.Errorf("NO_COLOR: live %t, colour %t, want live alone", s.live, s.colour)
	}
	t.Setenv("TERM", "dumb")
	if s := newScreen(null); s.live {
		t.Error("TERM=dumb: live")
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	var v verdict
	if v.ok() {
		t.Error("a verdict about nothing is good")
	}
	v.check(true, "fact", "fault")
	if !v.ok() || v.String() != "fact" {
		t.Errorf("got %t %q", v.ok(), v.String())
	}
	v.check(false, "fact", "fault")
	if v.ok() || v.String() != "fault" {
		t.Errorf("got %t %q", v.ok(), v.String())
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := together(t.Context(), 3, func(ctx context.Context, i int) error {
		if i == 1 {
			return broken
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the first error", err)
	}
}
