package main

import (
	"bytes"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// asTool is the environment variable with which the test binary is the tool itself.
const asTool = "REDISLOCK_TEST_AS_TOOL"

// hasty is its value for a tool that waits no longer for a server than users have it; otherwise it waits for longer than any
// server of a test is silent on a busy machine.
const hasty = "hasty"

func TestMain(m *testing.M) {
	if how := os.Getenv(asTool); how != "" {
		if how != hasty {
			cli.Reachable = time.Minute
		}
		os.Exit(tool().Main())
	}
	if err := prepare(); err != nil {
		panic(err)
	}
	redistest.Main(m)
}

// prepare gives the processes that tests start what the machine of a test may not have: a character set, and signals that
// end them. Whoever runs the tests in the background may ignore SIGINT, and what is ignored would be so in every process.
func prepare() error {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	cli.Reachable = time.Minute
	return os.Setenv("LC_ALL", "C.UTF-8")
}

// wantText looks for a text in what was written.
func wantText(t *testing.T, stream, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s is %q, want %q in it", stream, got, want)
	}
}

// Usage texts fit a terminal of 80 columns. Of the help that a command has, that is so as it is written: a line that is broken
// elsewhere is ragged.
func TestUsageFits(t *testing.T) {
	t.Parallel()
	help := func(args ...string) string {
		var out bytes.Buffer
		tool().Run(t.Context(), cli.Streams{Out: &out, Err: &out}, args)
		return out.String()
	}
	texts := map[string]string{"help": help("help")}
	for _, c := range tool().Commands {
		text := help("help", c.Name)
		if again := help(c.Name, "-h"); again != text {
			t.Errorf("%s -h differs from help %s", c.Name, c.Name)
		}
		for _, e := range c.Examples { // a command line stays whole
			text = strings.Replace(text, "  "+e.Line+"\n", "", 1)
		}
		texts[c.Name] = text + c.Help
		if !c.Hidden && len(c.Examples) == 0 {
			t.Errorf("%s has no example", c.Name)
		}
	}
	for name, text := range texts {
		for line := range strings.Lines(strings.ReplaceAll(text, "\t", "    ")) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}
