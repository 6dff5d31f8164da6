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

// output is what a command has written.
type output struct{ out, err bytes.Buffer }

func (o *output) streams() cli.Streams { return cli.Streams{Out: &o.out, Err: &o.err} }

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
		{"unknown command", "dome", 2, "", `unknown command dome; did you mean demo?`},
		{"a command that is nothing like one", "frobnicate", 2, "", "unknown command frobnicate\n"},
		{"help", "help", 0, "demo", ""},
		{"help flag", "--help", 0, "demo", ""},
		{"exit statuses in the help", "--help", 0, "  75   a lock was not to be had", ""},
		{"help of a command", "help demo", 0, "--quick", ""},
		{"help flag of a command", "demo -h", 0, "--redis url", ""},
		{"help of nothing", "help dome", 2, "", `unknown command dome; did you mean demo?`},
		{"version", "--version", 0, "commit ", ""},
		{"version for a program", "version --json", 0, `"commit":"`, ""},
		{"unknown flag", "demo --slow", 2, "", "unknown flag: --slow"},
		{"a flag with a slip in the command", "lss --json", 2, "", "unknown command lss; did you mean ls?"},
		{"a flag before a slip in the command", "--json lss", 2, "", "unknown command lss; did you mean ls?"},
		{"an unknown flag before a word", "--speed fast ls", 2, "", "unknown flag: --speed"},
		{"a word that is like a flag by its length alone", "tree --ttl 3s", 2, "", "unknown flag: --ttl\n"},
		{"a flag with a slip", "ls --prefx a", 2, "", "unknown flag --prefx; did you mean --prefix?"},
		{"one dash", "demo -redis redis://127.0.0.1:1", 2, "", "-redis: a long flag has two dashes: --redis"},
		{"one dash and =", "demo -redis=redis://127.0.0.1:1", 2, "", "-redis: a long flag has two dashes: --redis"},
		{"one dash in a value", "break --reason -redis", 2, "", "no key is given"},
		{"unknown act", "demo comedy", 2, "", `unknown act "comedy"`},
		{"not a url", "demo --redis http://localhost", 2, "", "the url of the server is such as"},
		{"an empty url", "ls --redis=", 2, "", "the server is $REDISLOCK_REDIS, else $REDIS_URL, else redis://127.0.0.1:6379"},
		{"an empty url of the demo", "demo --redis=", 2, "", "the server is $REDISLOCK_REDIS, else a server inside the program"},
		{"a host and a port", "ls --redis 127.0.0.1:1", 69, "", "cannot use 127.0.0.1:1, database 0: "},
		{"a host", "ls --redis localhost/x", 2, "", "the url of the server is such as"},
		{"as with redis-cli", "ls -h cache-1 -p 6380", 2, "", "-h is --help here, and there is no -p: the server is --redis redis://cache-1:6380"},
		{"a port as with redis-cli", "ls -p 6380", 2, "", "the server is --redis redis://127.0.0.1:6380"},
		{"a host as with redis-cli", "show -h cache-1 a", 2, "", "the server is --redis redis://cache-1:6379"},
		{"a host before the command", "-h cache-1 ls", 2, "", "the server is --redis redis://cache-1:6379"},
		{"help before the command", "-h ls", 0, "usage: redislock ls", ""},
		{"help of what cobra has made", "completion --help", 0, "\"redislock completion COMMAND --help\" shows", ""},
		{"a time without a unit", "run --ttl 30 a -- true", 2, "", "--ttl 30: a time has a unit: 30s?"},
		{"no time", "run --ttl soon a -- true", 2, "", "--ttl soon: a time is such as 30s"},
		{"flags before the command", "--quick demo conflict", 0, "1 of 1 act as promised", ""},
		{"flags with values before the command", "--redis 127.0.0.1:1 ls", 69, "", "redislock ls: cannot use 127.0.0.1:1"},
		{"flags behind the arguments", "demo conflict --quick", 0, "1 of 1 act as promised", ""},
		{"another name", "list --redis 127.0.0.1:1", 69, "", "redislock ls: cannot use 127.0.0.1:1"},
		{"an act", "demo --quick conflict", 0, "1 of 1 act as promised", ""},
		{"the end of the demo", "demo --quick conflict", 0, "redislock doctor ", ""},
		{"no server", "demo --redis redis://127.0.0.1:1", 69, "", "cannot use 127.0.0.1:1, database 0: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var o output
			if got := tool().Run(t.Context(), o.streams(), strings.Fields(tt.args)); got != tt.want {
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
	tool().Run(t.Context(), o.streams(), []string{"demo", "--redis", "redis://127.0.0.1:1"})
	if got := strings.Count(o.err.String(), "\n"); got != 1 {
		t.Errorf("stderr has %d lines, want 1:\n%s", got, &o.err)
	}
}

func TestPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://me:hush@127.0.0.1:1", "redis://me:hush@127.0.0.1:x", "redis://:hush@%zz"} {
		var o output
		if tool().Run(t.Context(), o.streams(), []string{"demo", "--redis", url}) == 0 {
			t.Errorf("%s: exit status 0", url)
		}
		if text := o.out.String() + o.err.String(); strings.Contains(text, "hush") {
			t.Errorf("%s: the password is in %q", url, text)
		}
	}
}

// The help of a command is written in lines that fit a terminal: one that is broken elsewhere is ragged.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	for _, c := range tool().Commands {
		for line := range strings.Lines(c.Help) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d characters in %q", c.Name, n, line)
			}
		}
	}
}
