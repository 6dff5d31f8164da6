package main

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// shared returns the server that tests share, a crowd there, and a name for keys of this test.
func shared(t *testing.T) (addr string, c *crowd, key string) {
	t.Helper()
	b := redistest.Shared(t, redistest.Redis)
	return b.Addr(), newCrowd(t, b.Client(t)), world.NewName(t)
}

// wantHeld checks that a lock was not broken.
func wantHeld(t *testing.T, lock *redislock.Lock) {
	t.Helper()
	if ttl, err := lock.TTL(t.Context()); err != nil || ttl == 0 {
		t.Errorf("the lock has %v left (%v), want it held", ttl, err)
	}
}

// On a Cluster keys are broken slot by slot. If one of them fails the others are broken all the same.
func TestBreakCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
	c := newCrowd(t, cluster.Client(t))
	for _, key := range []string{"a", "b", "c"} {
		c.holds("me "+key, key)
	}
	one := cluster.MasterOf("b").Client(t)
	breakAll := func(rule string, status int, texts ...string) *process {
		check.NoError(t, one.Do(t.Context(), "ACL", "SETUSER", "default", rule).Err())
		p := newProcess(t, "break", "--yes", "--redis", "redis://"+cluster.Addrs()[0]+"?addr="+cluster.Addrs()[1], "a", "b", "c").start(t)
		p.want(t, status)
		for _, text := range texts {
			wantText(t, "output", p.stdout.String()+p.stderr.String(), text)
		}
		return p
	}
	breakAll("-zadd", 1, "a: taken from me a", "c: taken from me c", "1 of 3 parts have failed")
	wantHeld(t, c.locks["b"])
	if p := breakAll("+zadd", 0, "a: nobody is broken", "b: taken from me b"); strings.Contains(p.stdout.String(), "me a") {
		t.Errorf("it breaks twice:\n%s", &p.stdout)
	}
}

// unanswered starts a break of a key that is held, of which no answer comes, and returns when it was sent.
func unanswered(t *testing.T, patience string) (p *process, relay *redistest.Relay, key string) {
	t.Helper()
	addr, c, key := shared(t)
	c.holds("me", key)
	relay, asked, first := redistest.NewRelay(t, addr), make(chan struct{}), sync.Once{}
	relay.OnRequest(func(name string, args []string) {
		if world.OperationOf(name, args) == "break" {
			first.Do(func() {
				relay.DropReplies(true)
				close(asked)
			})
		}
	})
	// The server knows the script, so the first request is the Break.
	check.Must[[]redislock.Holder](t)(c.client.Break(t.Context(), []string{key + "free"}, ""))
	p = newProcess(t, "break", "--yes", key, "--redis", "redis://"+relay.Addr()+"?max_retries=-1&read_timeout="+patience).start(t)
	<-asked
	return p, relay, key
}

// If no answer comes it says that the outcome is not known.
func TestBreakUnknown(t *testing.T) {
	t.Parallel()
	p, _, key := unanswered(t, "2s")
	p.want(t, 69, "it is not known whether "+key+" was broken")
}

// After Ctrl-C it says so, too.
func TestBreakUnknownInterrupted(t *testing.T) {
	t.Parallel()
	p, relay, key := unanswered(t, "1m")
	seesTo := make(chan struct{}, 1)
	relay.OnRequest(func(string, []string) {
		select {
		case seesTo <- struct{}{}:
		default:
		}
	})
	check.NoError(t, p.Process.Signal(os.Interrupt))
	if _, ok := check.Receive(seesTo, soon); !ok {
		t.Error("it goes on waiting, and does not see to what may be left")
	}
	relay.DropReplies(false)
	relay.Cut() // what it sees to at the end goes through
	p.want(t, 130, "it is not known whether "+key+" was broken")
}
