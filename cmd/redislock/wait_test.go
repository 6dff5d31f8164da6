package main

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// startWait starts the tool as a process that is to wait, and returns when it says for whom.
func startWait(t *testing.T, url, who string, args ...string) *process {
	t.Helper()
	return newProcess(t, append([]string{"wait", "--redis", url}, args...)...).startWait(t, who)
}

func (p *process) startWait(t *testing.T, who string) *process {
	t.Helper()
	p.start(t)
	check.Eventually(t, time.Minute, "it waits", func() bool { return strings.Contains(p.stderr.String(), who) })
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

func (p *process) wantEnd(t *testing.T, status int, parts ...string) {
	t.Helper()
	got := p.status(t)
	wantStatus(t, got, status, p.stdout.String(), p.stderr.String(), parts...)
}

// It returns when nobody holds any of the keys, and has taken nothing.
func TestWait(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	one, two := holder(t, rdb, "host=one", key), holder(t, rdb, "host=two", key+"2")
	p := startWait(t, "redis://"+addr, "write-locked by host=one", key, key+"2")
	check.NoError(t, one.Release(t.Context()))
	limited := startWait(t, "redis://"+addr, "write-locked by host=two", "--wait", "3s", key, key+"2")
	limited.wantEnd(t, 75, key+"2 is write-locked by host=two")
	p.wantWaits(t)
	check.NoError(t, two.Release(t.Context()))
	p.wantEnd(t, 0, "free after ")
	if n := check.Must[int64](t)(rdb.Exists(t.Context(), key, key+"2", "redislock:line:{"+key+"}").Result()); n != 0 {
		t.Errorf("%d keys are there behind it, want none", n)
	}
	if p.stdout.String() != "" {
		t.Errorf("it writes %q to stdout", &p.stdout)
	}
	stdout, stderr, status := onServer(t, addr, "wait", key)
	wantStatus(t, status, 0, stdout, stderr)
	if stdout+stderr != "" {
		t.Errorf("the key is free at once, and it says %q", stdout+stderr)
	}
}

// Two keys of which one is always held are not free, however often they change.
func TestWaitAtOneMoment(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	c := redislock.New(rdb)
	t.Cleanup(c.Close)
	held := holder(t, rdb, "0", key+"0")
	p := startWait(t, "redis://"+addr, "write-locked by 0", key+"0", key+"1")
	for i, end := 1, time.Now().Add(3*time.Second); time.Now().Before(end); i++ {
		next := check.Must[*redislock.Lock](t)(c.Obtain(t.Context(), []string{key + string("01"[i%2])}, time.Hour, nil))
		check.NoError(t, held.Release(t.Context()))
		held = next
	}
	p.wantWaits(t)
	check.NoError(t, held.Release(t.Context()))
	p.wantEnd(t, 0)
}

func TestWaitTimeout(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	holder(t, rdb, "host=one", key)
	stdout, stderr, status := onServer(t, addr, "wait", "--wait", "200ms", key)
	wantStatus(t, status, 75, stdout, stderr, "not free within 200ms: "+key+" is write-locked by host=one, since ")
	_, stderr, status = onServer(t, addr, "wait", "-q", "--wait", "200ms", key)
	if status != 75 || strings.Count(stderr, "\n") != 1 {
		t.Errorf("-q: exit status %d, stderr %q, want 75 and one line", status, stderr)
	}
}

// What is free when the time is over is free, even if nothing could be asked before.
func TestWaitNoTime(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	holder(t, rdb, "host=one", key)
	stdout, stderr, status := onServer(t, addr, "wait", "--wait", "1ns", key)
	wantStatus(t, status, 75, stdout, stderr, key+" is write-locked by host=one")
	for _, flag := range []string{"-q", "--read"} {
		stdout, stderr, status = onServer(t, addr, "wait", "--wait", "1ns", flag, key+"free")
		wantStatus(t, status, 0, stdout, stderr)
	}
}

// With --read readers do not matter; what waits or has left does not make a key taken or free by itself.
func TestWaitRead(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	c := redislock.New(rdb)
	t.Cleanup(c.Close)
	check.Must[*redislock.Lock](t)(c.ObtainRead(t.Context(), []string{key}, time.Hour, &redislock.Options{Metadata: "a reader"}))
	check.NoError(t, rdb.Set(t.Context(), "redislock:intent:{"+key+"free}", "token|writer", time.Minute).Err())
	check.NoError(t, holder(t, rdb, "gone", key+"left").Leave(t.Context(), time.Hour))
	writer := holder(t, rdb, "a writer", key+"w")
	for _, tt := range []struct {
		args   string
		status int
		want   string
	}{
		{key, 75, "read-locked by a reader"},
		{"--read " + key, 0, ""},
		{"--read " + key + " " + key + "none", 0, ""},
		{key + "free", 0, ""},
		{key + "left", 75, "gone, after its work"},
		{"--read " + key + "left", 75, "gone, after its work"},
		{"--read " + key + " " + key + "w", 75, "write-locked by a writer"},
	} {
		stdout, stderr, status := onServer(t, addr, append([]string{"wait", "--wait", "300ms"}, strings.Fields(tt.args)...)...)
		wantStatus(t, status, tt.status, stdout, stderr, tt.want)
	}
	p := startWait(t, "redis://"+addr, "a writer", "--read", key, key+"w")
	check.NoError(t, writer.Downgrade(t.Context()))
	p.wantEnd(t, 0)
}

// A key that is no lock is an error, also if it comes to be one meanwhile.
func TestWaitNoLock(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	check.NoError(t, rdb.RPush(t.Context(), key+"list", "data").Err())
	for _, flag := range []string{"--read", "-q"} {
		stdout, stderr, status := onServer(t, addr, "wait", flag, key+"list")
		wantStatus(t, status, 65, stdout, stderr, key+"list is foreign: it holds a list that is no lock")
	}
	holder(t, rdb, "host=one", key)
	p := startWait(t, "redis://"+addr, "host=one", key)
	check.NoError(t, rdb.Set(t.Context(), key, "data", 0).Err())
	p.wantEnd(t, 65, key+" is foreign: it holds a string that is no lock")
}

// It goes on while Redis does not answer, and says so once.
func TestWaitServerAway(t *testing.T) {
	t.Parallel()
	b := redistest.Shared(t, redistest.Redis)
	key, rdb := world.NewName(t), b.Client(t)
	lock := holder(t, rdb, "host=one", key)
	relay := redistest.NewRelay(t, b.Addr())
	url := "redis://" + relay.Addr() + "?max_retries=-1"
	p := startWait(t, url, "host=one", key)
	relay.Refuse(true)
	relay.Cut()
	check.Eventually(t, time.Minute, "it says that nobody answers", func() bool { return strings.Contains(p.stderr.String(), "no answer from") })
	check.NoError(t, lock.Release(t.Context()))
	p.wantWaits(t)
	relay.Refuse(false)
	p.wantEnd(t, 0, "answers again", "free after")
	if n := strings.Count(p.stderr.String(), "no answer from"); n != 1 {
		t.Errorf("it says %d times that nobody answers:\n%s", n, &p.stderr)
	}

	holder(t, rdb, "host=two", key)
	p = newProcess(t, "wait", "--redis", url, "--wait", "8s", key)
	p.Env = append(p.Env, asTool+"="+hasty)
	p.startWait(t, "host=two")
	relay.Blackhole(true) // a request is not waited for when the time is over
	p.wantEnd(t, 69, "no answer from")
}

func TestWaitCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
	rdb := cluster.Client(t)
	url := "redis://" + cluster.Addrs()[0] + "?addr=" + cluster.Addrs()[1]
	holder(t, rdb, "a reader's friend", "d")
	locks := []*redislock.Lock{holder(t, rdb, "me", "a"), holder(t, rdb, "me", "b"), holder(t, rdb, "me", "c")}
	p := startWait(t, url, "and 2 more keys", "a", "b", "c")
	for _, lock := range locks {
		p.wantWaits(t)
		check.NoError(t, lock.Release(t.Context()))
	}
	p.wantEnd(t, 0)
	stdout, stderr, status := runTool(t, "wait", "--read", "--wait", "200ms", "--redis", url, "a", "d")
	wantStatus(t, status, 75, stdout, stderr, "d is write-locked")
}

func TestWaitInterrupted(t *testing.T) {
	t.Parallel()
	addr, rdb, key := shared(t)
	holder(t, rdb, "host=one", key)
	p := startWait(t, "redis://"+addr, "host=one", key)
	check.NoError(t, p.Process.Signal(os.Interrupt))
	p.wantEnd(t, 130, "interrupted")
}

// The outcome is one object.
func TestWaitJSON(t *testing.T) {
	t.Parallel()
	addr := redistest.Shared(t, redistest.Redis).Addr()
	key := t.Name() + rand.Text()
	client := redislock.New(redistest.Shared(t, redistest.Redis).Client(t))
	t.Cleanup(client.Close)
	check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key + "held"}, time.Hour, nil))
	for key, want := range map[string]int{key: 0, key + "held": 75} {
		stdout, stderr, status := runTool(t, "wait", "--json", "-q", "--wait", "50ms", "--redis", addr, key)
		found := objects(t, stdout)
		if status != want || len(found) != 1 || found[0]["free"] != (want == 0) || found[0]["waited_ms"] == nil {
			t.Errorf("status %d, want %d: %s%s", status, want, stdout, stderr)
		}
	}
}
