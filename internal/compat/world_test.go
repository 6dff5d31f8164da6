//go:build compat

package compat_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/compat"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

const (
	long = time.Minute
	// soon is a generous bound for what happens by itself.
	soon = 45 * time.Second
)

// A world is a server of its own, and a program of each version: one holds, the other waits.
type world struct {
	rdb             *redis.Client
	addr            string
	holder, waiter  *peer
	older, newer    *peer
	holderV, waitsV string
	faulty          bool // replies are lost: guards may be left
}

// bothWays runs a scenario with either version in either place.
func bothWays(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	for _, holder := range []string{older, newer} {
		waiter := map[string]string{older: newer, newer: older}[holder]
		t.Run(holder+" holder, "+waiter+" waiter", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.holder, w.waiter = w.older, w.newer
			if holder == newer {
				w.holder, w.waiter = w.newer, w.older
			}
			w.holderV, w.waitsV = holder, waiter
			fn(t, w)
			w.wantNothingLeft(t)
		})
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	redistest.Need(t, "git")
	server := redistest.Start(t, redistest.Redis)
	w := &world{rdb: server.Client(t), addr: server.Addr()}
	w.older, w.newer = w.start(t, older), w.start(t, newer)
	return w
}

// wantNothingLeft waits until nothing is in Redis but the last fencing numbers, which have an end.
func (w *world) wantNothingLeft(t *testing.T) {
	t.Helper()
	var left []string
	eventually(t, fmt.Sprintf("nothing is left, but %v", &left), func() bool {
		left = left[:0]
		for _, key := range must(w.rdb.Keys(t.Context(), "*").Result())(t) {
			ttl := must(w.rdb.PTTL(t.Context(), key).Result())(t)
			if ttl == -1 {
				t.Fatalf("%q has no ttl", key)
			}
			guards := w.faulty && len(check.WithoutGuards(t.Context(), w.rdb, key)) == 0
			if !guards && !strings.HasPrefix(key, "redislock:fence") {
				left = append(left, fmt.Sprint(key, " for ", ttl))
			}
		}
		return len(left) == 0
	})
}

// inLine waits until so many stand in the line of a key. Guards are behind all places.
func (w *world) inLine(t *testing.T, key string, n int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d stand in line for %s", n, key), func() bool {
		return must(w.rdb.ZCount(t.Context(), "redislock:line:{"+key+"}", "-inf", "(4503599627370496").Result())(t) == n
	})
}

// A peer is a process of one version.
type peer struct {
	version string
	cmd     *exec.Cmd
	gone    chan struct{}

	mu      sync.Mutex
	in      io.WriteCloser
	last    int
	waiting map[int]chan compat.Reply
}

// start starts one more process; it ends with the test.
func (w *world) start(t *testing.T, version string, args ...string) *peer {
	t.Helper()
	built, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{version: version, gone: make(chan struct{}), waiting: map[int]chan compat.Reply{}}
	p.cmd = exec.Command(built[version], append([]string{w.addr}, args...)...)
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(out)
	t.Cleanup(p.kill)
	return p
}

// read hands out the replies until the process has ended.
func (p *peer) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var reply compat.Reply
		if err := json.Unmarshal(lines.Bytes(), &reply); err != nil {
			fmt.Fprintln(os.Stderr, p.version, "peer:", err)
			continue
		}
		p.mu.Lock()
		waiting := p.waiting[reply.ID]
		delete(p.waiting, reply.ID)
		p.mu.Unlock()
		if waiting != nil {
			waiting <- reply
		}
	}
	_ = p.cmd.Wait() // it may have been killed
	close(p.gone)
}

// kill ends the process as kill -9 does.
func (p *peer) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.gone
}

// begin sends a request; the reply comes when it comes.
func (p *peer) begin(t *testing.T, request compat.Request) (id int, reply <-chan compat.Reply) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	request.ID = p.last
	answer := make(chan compat.Reply, 1)
	p.waiting[request.ID] = answer
	if err := json.NewEncoder(p.in).Encode(request); err != nil {
		t.Errorf("%s peer: %v", p.version, err)
	}
	return request.ID, answer
}

// ask sends a request and waits for the reply.
func (p *peer) ask(t *testing.T, request compat.Request) compat.Reply {
	t.Helper()
	_, reply := p.begin(t, request)
	return await(t, reply)
}

// do sends a request that has to succeed.
func (p *peer) do(t *testing.T, request compat.Request) compat.Reply {
	t.Helper()
	reply := p.ask(t, request)
	if reply.Error != "" {
		t.Fatalf("%s of the %s peer: %s", request.Op, p.version, reply.Error)
	}
	return reply
}

// refused sends a request that has to fail in a certain way.
func (p *peer) refused(t *testing.T, request compat.Request, is string) compat.Reply {
	t.Helper()
	reply := p.ask(t, request)
	if reply.Is != is {
		t.Fatalf("%s of the %s peer: got %q, want that it is %s", request.Op, p.version, reply.Error, is)
	}
	return reply
}

// conflict sends an Obtain that has to be refused because of a key held in some mode.
func (p *peer) conflict(t *testing.T, request compat.Request, key, mode, metadata string) {
	t.Helper()
	reply := p.refused(t, request, compat.NotObtained)
	if reply.Key != key || reply.Mode != mode || reply.Metadata != metadata {
		t.Fatalf("the %s peer names %q, %s, %q, want %q, %s, %q",
			p.version, reply.Key, reply.Mode, reply.Metadata, key, mode, metadata)
	}
}

func (p *peer) release(t *testing.T, lock string) {
	t.Helper()
	p.do(t, compat.Request{Op: compat.Release, Lock: lock})
}

// await waits for the reply to a request.
func await(t *testing.T, reply <-chan compat.Reply) compat.Reply {
	t.Helper()
	r, ok := receive(reply, soon)
	if !ok {
		t.Fatalf("no reply within %v", soon)
	}
	return r
}

// receive waits so long for a reply.
func receive(reply <-chan compat.Reply, within time.Duration) (compat.Reply, bool) {
	select {
	case r := <-reply:
		return r, true
	case <-time.After(within):
		return compat.Reply{}, false
	}
}

// granted waits for a lock.
func granted(t *testing.T, reply <-chan compat.Reply) compat.Reply {
	t.Helper()
	r := await(t, reply)
	if r.Error != "" {
		t.Fatalf("not obtained: %s", r.Error)
	}
	return r
}

// waits fails the test if a reply is there already.
func waits(t *testing.T, reply <-chan compat.Reply) {
	t.Helper()
	select {
	case r := <-reply:
		t.Fatalf("it does not wait: %+v", r)
	default:
	}
}

// lock asks for the write locks of keys, under the name of the first.
func lock(keys ...string) compat.Request {
	return compat.Request{Op: compat.Obtain, Lock: keys[0], Write: keys, TTL: long}
}

// read asks for the read locks of keys, under the name of the first.
func read(keys ...string) compat.Request {
	return compat.Request{Op: compat.Obtain, Lock: keys[0], Read: keys, TTL: long}
}

func polling(r compat.Request) compat.Request   { r.Poll = 10 * time.Millisecond; return r }
func inLine(r compat.Request) compat.Request    { r.Queue = true; return r }
func fenced(r compat.Request) compat.Request    { r.Fenced = true; return r }
func watched(r compat.Request) compat.Request   { r.Watchdog = true; return r }
func intending(r compat.Request) compat.Request { r.Intent = true; return r }

func secret(r compat.Request) compat.Request { r.Secret = true; return r }

func tagged(r compat.Request, metadata string) compat.Request  { r.Metadata = metadata; return r }
func named(r compat.Request, name string) compat.Request       { r.Lock = name; return r }
func owned(r compat.Request, token string) compat.Request      { r.Token = token; return r }
func lasting(r compat.Request, d time.Duration) compat.Request { r.TTL = d; return r }

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func eventually(t *testing.T, what string, state func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !state(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", soon, what)
		}
	}
}
