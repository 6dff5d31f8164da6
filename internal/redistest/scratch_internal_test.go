//go:build proof

package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestScratchFixture is run by TestScratchGoesWithItsProcess: it starts a server, says where, and ends in the way that it is given.
func TestScratchFixture(t *testing.T) {
	end := os.Getenv("REDISTEST_SCRATCH")
	if end == "" {
		return
	}
	s, err := Launch(Redis)
	if err != nil {
		t.Fatal(err)
	}
	t.TempDir()
	fmt.Printf("%s\n%s\n", s.dir, s.Addr())
	switch end {
	case "tidily":
		s.Stop()
	case "by a panic":
		panic("as wanted")
	default:
		select {}
	}
}

func TestScratchGoesWithItsProcess(t *testing.T) {
	t.Parallel()
	Need(t, Redis.program())
	Need(t, "sh")
	for _, end := range []string{"tidily", "by a panic", "by the time-out of its tests", "by kill -9"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			above := t.TempDir()
			out := &lineWriter{lines: newQueue[string]()}
			cmd := exec.Command(os.Args[0], "-test.run=^TestScratchFixture$", "-test.timeout=20s")
			if strings.Contains(end, "time-out") {
				cmd.Args[2] = "-test.timeout=2s"
			}
			cmd.Env = append(os.Environ(), "TMPDIR="+above, "REDISTEST_SCRATCH="+end)
			cmd.Stdout = out
			child, err := startChild(cmd, out.close)
			if err != nil {
				t.Fatal(err)
			}
			defer child.kill()
			dir, _ := out.lines.next(child.gone)
			addr, _ := out.lines.next(child.gone)
			if !strings.HasPrefix(dir, above+"/redistest-") {
				t.Errorf("the server is in %q, which is not in a folder below %q", dir, above)
			}
			if end == "by kill -9" {
				child.kill()
			}
			<-child.gone
			if (child.err == nil) != (end == "tidily") {
				t.Errorf("the process has ended with %v", child.err)
			}
			if err := Until(20*time.Second, func() error { return nothingLeft(above, addr) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// nothingLeft returns nil if the folder is empty and nobody listens at addr.
func nothingLeft(dir, addr string) error {
	left, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%s is left", left[0].Name())
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close()
		return fmt.Errorf("somebody listens at %s", addr)
	}
	return nil
}
