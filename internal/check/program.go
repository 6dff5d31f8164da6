package check

import (
	"os/exec"
	"strings"
	"testing"
)

// WriteProgram writes a shell script that can be started. Another process writes it: a program cannot be started while somebody
// has it open to write, as what another test starts in that moment would have.
func WriteProgram(t *testing.T, file, script string) {
	t.Helper()
	write := exec.CommandContext(t.Context(), "sh", "-c", `cat >"$0" && chmod 700 "$0"`, file)
	write.Stdin = strings.NewReader(script)
	NoError(t, write.Run())
}
