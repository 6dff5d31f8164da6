package main

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// A command that cannot be executed gives the terminal back, which it had for a moment. A script that does not say of what
// has it, as any other command.
func TestRunExecutesInTerminal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ script, says string }{
		"no such interpreter": {"#!/no/such/interpreter\n", "status 126"},
		"no interpreter":      {"echo ready; read x; echo got $x\n", "ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			check.WriteProgram(t, p.dir+"/command", tt.script)
			y := p.sh("-c", `$run $K -- $D/command; echo "status $?"; read y; echo "then $y"`)
			terminal := y.inTerminal(t)
			terminal.shows(tt.says)
			if name == "no interpreter" {
				terminal.press("hello\n")
				terminal.shows("got hello")
				terminal.shows("status 0")
			}
			terminal.press("bye\n")
			terminal.shows("then bye")
			y.want(t, 0)
			p.wantFree()
		})
	}
}
