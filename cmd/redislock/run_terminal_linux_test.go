package main

import (
	"os"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// inTerminal starts a process with a terminal of its own.
func (p *process) inTerminal(t *testing.T) *tty {
	t.Helper()
	terminal := newTTY(t, 80, 24)
	terminal.run(p)
	return terminal
}

const (
	ctrlC = "\x03"
	ctrlZ = "\x1a"
)

// sh prepares a shell; $run is redislock run with the server.
func (p *place) sh(args ...string) *process {
	p.t.Helper()
	c := p.run()
	c.Env = append(c.Env, "run="+strings.Join(c.Args, " "), "K="+p.key, "PS1=$ ", "ENV=")
	c.Path, c.Args = "/bin/sh", append([]string{"sh"}, args...)
	return c
}

func TestRunReadsTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell(`stty -echo; echo ready; read x; echo "got $x"; exit 3`)
	y := c.inTerminal(t)
	y.shows("ready")
	y.press("hello\n")
	y.shows("got hello")
	c.want(t, 3)
	p.wantFree()
}

// In a pipeline another process may want the terminal. The command gets it when it asks for it.
func TestRunReadsTerminalInPipeline(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.sh("-c", `$run $K -- sh -c 'echo ready; read x </dev/tty; echo "got $x"' | tee $D/out; read y; echo "then $y"`)
	y := c.inTerminal(t)
	y.shows("ready")
	y.press("hello\n")
	y.shows("got hello")
	p.wantFree()
	y.press("bye\n")
	y.shows("then bye")
	c.want(t, 0)
}

// Ctrl-C ends the command, and the script that has called redislock, as it would without redislock.
func TestRunCtrlC(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"terminal": `$run $K -- sh -c 'echo ready; exec sleep 600'; echo after`,
		"pipeline": `$run $K -- sh -c 'echo ready; exec sleep 600' | cat; echo after`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c := p.sh("-c", script)
			y := c.inTerminal(t)
			y.shows("ready")
			y.press(ctrlC)
			c.want(t, -1) // the shell, by SIGINT
			if strings.Contains(y.screen.String(), "after") {
				t.Errorf("the script goes on: %q", &y.screen)
			}
			p.wantFree()
		})
	}
}

// A command that handles Ctrl-C goes on, and gets it once.
func TestRunCtrlCHandled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell(`trap 'echo interrupt' INT; echo ready; until test -e $D/end; do sleep 0.01; done; echo end`)
	y := c.inTerminal(t)
	y.shows("ready")
	y.press(ctrlC)
	y.shows("interrupt")
	check.NoError(t, os.WriteFile(p.dir+"/end", nil, 0o600))
	c.want(t, 0)
	y.shows("end")
	if n := strings.Count(y.screen.String(), "interrupt"); n != 1 {
		t.Errorf("the command got %d signals, want 1", n)
	}
	p.wantFree()
}

func TestRunCtrlZ(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.sh("-i")
	y := c.inTerminal(t)
	y.press("$run --ttl 10m $K -- sh -c 'echo rea\"\"dy; read x; echo \"got $x\"'\n")
	y.shows("ready")
	y.press(ctrlZ)
	y.shows("Stopped")
	y.press("echo sh\"\"ell\n")
	y.shows("shell")
	y.press("fg\n")
	y.press("word\n")
	y.shows("got word")
	y.press("exit 3\n")
	c.want(t, 3)
	p.wantFree()
}

// A job that is stopped keeps its lock until the lease ends, and no longer; then it is ended.
func TestRunCtrlZForTooLong(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.sh("-i")
	y := c.inTerminal(t)
	y.press("$run --ttl 6s $K -- sh -c 'echo $$ >$D/command; echo rea\"\"dy; exec sleep 600'\n")
	y.shows("ready")
	y.press(ctrlZ)
	y.shows("Stopped")
	wantGone(t, p.pid("command"))
	p.wantFree()
	y.press("fg\n")
	y.shows("the command is ended")
	y.press("echo sta\"\"tus $?\n")
	y.shows("status 79")
	y.press("exit 3\n")
	c.want(t, 3)
}

// A job in the background stops when it reads the terminal, and reads it when it is brought to the foreground.
func TestRunBackground(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.sh("-i")
	y := c.inTerminal(t)
	y.press("$run --ttl 10m $K -- sh -c 'echo rea\"\"dy; read x; echo \"got $x\"' &\n")
	y.shows("ready")
	for !strings.Contains(y.screen.String(), "Stopped") { // a shell says so before its next prompt
		y.press("\n")
		check.Eventually(t, soon, "a prompt", func() bool { return strings.HasSuffix(y.screen.String(), "$ ") })
	}
	y.press("fg\n")
	y.press("word\n")
	y.shows("got word")
	y.press("exit 3\n")
	c.want(t, 3)
	p.wantFree()
}
