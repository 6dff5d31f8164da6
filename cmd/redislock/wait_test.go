package main

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
)

// Two keys of which one is always held are not free, however often they change.
func TestWaitAtOneMoment(t *testing.T) {
	t.Parallel()
	addr, c, key := shared(t)
	held := c.holds("0", key+"0")
	p := newProcess(t, "wait", "--redis", addr, key+"0", key+"1").start(t)
	check.Eventually(t, soon, "it waits", func() bool { return strings.Contains(p.stderr.String(), "write-locked by 0") })
	for i, end := 1, time.Now().Add(3*time.Second); time.Now().Before(end); i++ {
		next := c.holds("", key+string("01"[i%2]))
		check.NoError(t, held.Release(t.Context()))
		held = next
	}
	select {
	case <-p.ended:
		t.Errorf("it has ended, with %d\n%s", p.ProcessState.ExitCode(), &p.stderr)
	default:
	}
	check.NoError(t, held.Release(t.Context()))
	p.want(t, 0)
}
