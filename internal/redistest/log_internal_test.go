//go:build proof

package redistest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestLogbook(t *testing.T) {
	t.Parallel()
	var l logbook
	if got := l.String(); got != "" {
		t.Errorf("got %q of nothing", got)
	}
	for i := range logSize + 3 {
		l.Printf(t.Context(), "message %d", i)
	}
	lines := strings.Split(l.String(), "\n")
	if want := "what go-redis said last, after 3 other messages:"; lines[0] != want {
		t.Errorf("got %q, want %q", lines[0], want)
	}
	lines = lines[1 : logSize+1]
	if !strings.HasSuffix(lines[0], " message 3") || !strings.HasSuffix(lines[logSize-1], fmt.Sprint(" message ", logSize+2)) {
		t.Errorf("got messages from %q to %q", lines[0], lines[logSize-1])
	}
}

// TestLogFixture is run by TestLogIsKeptBack: go-redis has something to say in it.
func TestLogFixture(t *testing.T) {
	end := os.Getenv("REDISTEST_LOG")
	if end == "" {
		return
	}
	if err := newClient(t, "127.0.0.1:1", nil).Ping(t.Context()).Err(); err == nil {
		t.Error("somebody listens at port 1")
	}
	fmt.Println("end of the test")
	if end == "fails" {
		t.Fail()
	}
}

func TestLogIsKeptBack(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"passes", "fails"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			out, err := Rerun(t, []string{"REDISTEST_LOG=" + end}, "-test.run=^TestLogFixture$")
			before, behind, _ := strings.Cut(string(out), "end of the test")
			const said = "failed to dial"
			if strings.Contains(before, said) {
				t.Errorf("it stands among the output of the test:\n%s", out)
			}
			if failed := end == "fails"; (err != nil) != failed || strings.Contains(behind, said) != failed {
				t.Errorf("got %v, want it at the end if the run fails:\n%s", err, out)
			}
		})
	}
}
