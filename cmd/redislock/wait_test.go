package main

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// startWait starts the tool as a process that is to wait, and returns when it says for whom.
func (p *process) startWait(t *testing.T, who string) *process {
	t.Helper()
	p.start(t)
	check.Eventually(t, soon, "it waits", func() bool { return strings.Contains(p.stderr.String(), who) })
	return p
}

// wantWaits checks that a process waits still.
func (p *process) wantWaits(t *testing.T) {
	t.Helper()
	select {
	case <-p.ended:
		t.Fatalf("it has ended, with %d\n%s%s", p.ProcessState.ExitCode(), &p.stdout, &p.stderr)
	default:
	}
}

// Two keys of which one is always held are not free, however often they change.
func TestWaitAtOneMoment(t *testing.T) {
	t.Parallel()
	addr, c, key := shared(t)
	held := c.holds("0", key+"0")
	p := newProcess(t, "wait", "--redis", addr, key+"0", key+"1").startWait(t, "write-locked by 0")
	for i, end := 1, time.Now().Add(3*time.Second); time.Now().Before(end); i++ {
		next := c.holds("", key+string("01"[i%2]))
		check.NoError(t, held.Release(t.Context()))
		held = next
	}
	p.wantWaits(t)
	check.NoError(t, held.Release(t.Context()))
	p.want(t, 0)
}

// It goes on while Redis does not answer, and says so once.
func TestWaitServerAway(t *testing.T) {
	t.Parallel()
	addr, c, key := shared(t)
	lock := c.holds("host=one", key)
	relay := redistest.NewRelay(t, addr)
	url := "redis://" + relay.Addr() + "?max_retries=-1"
	p := newProcess(t, "wait", "--redis", url, key).startWait(t, "host=one")
	relay.Refuse(true)
	relay.Cut()
	check.Eventually(t, time.Minute, "it says that nobody answers", func() bool { return strings.Contains(p.stderr.String(), "no answer from") })
	check.NoError(t, lock.Release(t.Context()))
	p.wantWaits(t)
	relay.Refuse(false)
	p.want(t, 0, "answers again", "free after")
	if n := strings.Count(p.stderr.String(), "no answer from"); n != 1 {
		t.Errorf("it says %d times that nobody answers:\n%s", n, &p.stderr)
	}

	c.holds("host=two", key)
	p = newProcess(t, "wait", "--redis", url, "--wait", "8s", key)
	p.Env = append(p.Env, asTool+"="+hasty)
	p.startWait(t, "host=two")
	relay.Blackhole(true) // a request is not waited for when the time is over
	p.want(t, 69, "no answer from")
}
