//go:build compat

package compat_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/compat"
)

const (
	hammerTime  = 8 * time.Second
	hammerKeys  = 4
	hammerHands = 4 // workers for each process, of which there are two of each version
)

// A resource is what the locks protect. It notes by itself who uses it.
type resource struct {
	mu      sync.Mutex
	writer  map[string]string
	readers map[string]int
	numbers map[string]int64 // the last that was shown by a writer
	entered map[string]int   // by version
	wrong   []string
	losses  bool // now and then the new ones lose a reply
}

func (r *resource) enter(who string, held compat.Request, number int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entered[who[:3]]++
	for _, key := range held.Write {
		if r.writer[key] != "" || r.readers[key] > 0 {
			r.badLocked("%s writes %s beside %q and %d readers", who, key, r.writer[key], r.readers[key])
		}
		if held.Fenced && number <= r.numbers[key] {
			r.badLocked("%s has the number %d of %s, after %d", who, number, key, r.numbers[key])
		}
		r.writer[key], r.numbers[key] = who, max(number, r.numbers[key])
	}
	for _, key := range held.Read {
		if r.writer[key] != "" {
			r.badLocked("%s reads %s beside %q", who, key, r.writer[key])
		}
		r.readers[key]++
	}
}

func (r *resource) leave(held compat.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range held.Write {
		delete(r.writer, key)
	}
	for _, key := range held.Read {
		r.readers[key]--
	}
}

func (r *resource) badLocked(format string, args ...any) {
	if len(r.wrong) < 10 {
		r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
	}
}

// wish is some set of keys, wanted in some way.
func wish(name string) compat.Request {
	r := compat.Request{Op: compat.Obtain, Lock: name, TTL: long}
	for _, i := range rand.Perm(hammerKeys)[:1+rand.N(3)] {
		to := &r.Write
		if rand.N(3) == 0 {
			to = &r.Read
		}
		*to = append(*to, fmt.Sprint("k", i))
	}
	switch rand.N(3) {
	case 0:
		r.Poll, r.Intent = 3*time.Millisecond, rand.N(2) == 0
	default:
		r.Queue, r.Poll = true, 5*time.Millisecond
	}
	r.Fenced, r.Watchdog = rand.N(3) == 0, rand.N(3) == 0
	return r
}

// work has one worker take locks until the time is over.
func (r *resource) work(t *testing.T, p *peer, name string, end time.Time) {
	t.Helper()
	for time.Now().Before(end) {
		wanted := wish(name)
		if r.losses && p.version == newer && rand.N(8) == 0 {
			p.begin(t, compat.Request{Op: compat.Lose})
		}
		id, reply := p.begin(t, wanted)
		if rand.N(8) == 0 {
			time.Sleep(rand.N(5 * time.Millisecond))
			p.begin(t, compat.Request{Op: compat.Cancel, Number: id})
		}
		got, ok := receive(reply, hammerTime+2*soon)
		switch {
		case got.Is == compat.Cancelled:
			continue
		case !ok || got.Error != "":
			t.Errorf("%s: of %+v came %+v", name, wanted, got)
			return
		}
		r.enter(name, wanted, got.Fence)
		time.Sleep(rand.N(2 * time.Millisecond))
		r.leave(wanted)
		_, reply = p.begin(t, compat.Request{Op: compat.Release, Lock: name})
		if got, ok := receive(reply, soon); !ok || got.Error != "" {
			t.Errorf("%s: of its release came %+v", name, got)
			return
		}
	}
}

// Processes of both versions take sets of a few keys in all ways at once: nobody is where another one
// is, numbers grow, and nothing is left.
func TestHammer(t *testing.T) {
	t.Parallel()
	hammer(t, false)
}

// The same holds where replies are lost, so that there are guards, which the old ones delete.
func TestGuardHammer(t *testing.T) {
	t.Parallel()
	hammer(t, true)
}

func hammer(t *testing.T, losses bool) {
	t.Helper()
	w := newWorld(t)
	w.faulty = losses
	r := &resource{
		writer: map[string]string{}, readers: map[string]int{}, numbers: map[string]int64{}, entered: map[string]int{},
		losses: losses,
	}
	end := time.Now().Add(hammerTime)
	var workers sync.WaitGroup
	for i, p := range []*peer{w.older, w.newer, w.start(t, older), w.start(t, newer)} {
		for hand := range hammerHands {
			workers.Go(func() { r.work(t, p, fmt.Sprintf("%s-%d-%d", p.version, i, hand), end) })
		}
	}
	seen := false
	for ; losses && time.Now().Before(end); time.Sleep(time.Millisecond) {
		seen = seen || w.guards(t, fmt.Sprint("k", rand.N(hammerKeys))) > 0
	}
	workers.Wait()
	for _, wrong := range r.wrong {
		t.Error(wrong)
	}
	t.Logf("locks taken: %v", r.entered)
	want := 50
	if losses {
		want = 10 // behind a guard the old ones let the new ones go first
	}
	for _, version := range []string{older, newer} {
		if r.entered[version] < want {
			t.Errorf("the %s ones have had %d turns, want at least %d", version, r.entered[version], want)
		}
	}
	if losses && !seen {
		t.Error("there was no guard: nothing was lost")
	}
	w.wantNothingLeft(t)
}
