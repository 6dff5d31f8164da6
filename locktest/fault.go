package locktest

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
)

// An Op says at which requests a [Fault] aims.
type Op string

const (
	// Any is every request of a lock, whatever it does.
	Any Op = "any"
	// Obtain is every attempt of an Obtain, whether it stands in line or not.
	Obtain Op = "obtain"
	// Refresh is every renewal of a lease, by [redislock.Lock.Refresh] or by the watchdog.
	Refresh Op = "refresh"
	// Release is every request that gives keys back: by Release, ReleaseKeys and Leave, by an Obtain
	// that gives up its place in line, and by clean-ups in the background.
	Release Op = "release"
)

// A Fault happens to requests of locks on their way to the server. [Server.Refuse], [Server.Delay],
// [Server.Cut] and [Server.Drop] make one. It happens once: to the next request. If several faults aim at a
// request, the oldest one happens to it.
//
// If a request was not answered, or the server is not ready for it, a Client sends it again: as often as MaxRetries
// of the Redis client says, 3 times by default, within a second. Renewals by the watchdog are not sent again, but
// the next one comes after a ninth of the ttl. So one Cut, one Drop and one refusal with READONLY or LOADING only
// make a call take longer. For more, see [Fault.Times] and [Fault.Always].
type Fault struct {
	server *Server
	op     Op
	kind   kind
	answer refusal
	delay  time.Duration

	// Guarded by the mutex of the server.
	times   int // it happens to so many requests; negative: to all
	met     int // it has happened to so many
	stopped bool
}

// A kind says what happens.
type kind string

const (
	refuses kind = "Refuse"
	delays  kind = "Delay"
	cuts    kind = "Cut"
	drops   kind = "Drop"
)

// Refuse answers the next request of an operation with an error of the server, such as "NOPERM this user
// has no permissions", "OOM command not allowed" or "READONLY You can't write against a read only
// replica.". The request is not executed.
func (s *Server) Refuse(op Op, answer string) *Fault {
	return s.add(&Fault{op: op, kind: refuses, answer: refusal(answer)})
}

// Delay makes the next request of an operation reach the server so much later. If that is longer than the
// ReadTimeout of the Redis client, 5 s by default, the caller has given up by then, and the request is
// executed late.
func (s *Server) Delay(op Op, by time.Duration) *Fault {
	return s.add(&Fault{op: op, kind: delays, delay: by})
}

// Cut lets the next request of an operation be executed, but loses its answer: the connection ends.
func (s *Server) Cut(op Op) *Fault { return s.add(&Fault{op: op, kind: cuts}) }

// Drop loses the next request of an operation: the connection ends before the server has read it. For the
// caller it is the same as a Cut.
func (s *Server) Drop(op Op) *Fault { return s.add(&Fault{op: op, kind: drops}) }

func (s *Server) add(f *Fault) *Fault {
	f.server, f.times = s, 1
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
	return f
}

// Times makes the fault happen to the next n requests, counted from the first. It returns the fault.
func (f *Fault) Times(n int) *Fault { return f.set(n) }

// Always makes the fault happen to every request until [Fault.Stop], or until the end of the test. It
// returns the fault.
func (f *Fault) Always() *Fault { return f.set(-1) }

func (f *Fault) set(times int) *Fault {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	f.times = times
	return f
}

// Stop ends the fault. A stopped fault does not fail the test if it has met no request.
func (f *Fault) Stop() {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	f.stopped = true
}

// Met returns to how many requests the fault has happened.
func (f *Fault) Met() int {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	return f.met
}

// String describes the fault as it was made.
func (f *Fault) String() string { return fmt.Sprintf("%s(%s)", f.kind, f.op) }

// meet returns the fault that happens to a run of a script; nil if there is none.
func (s *Server) meet(run check.Run) *Fault {
	ops := opsOf(run)
	if ops == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if !f.stopped && (f.times < 0 || f.met < f.times) && (f.op == Any || slices.Contains(ops, f.op)) {
			f.met++
			return f
		}
	}
	return nil
}

// miss takes back that the fault has happened to a request.
func (f *Fault) miss() {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	f.met--
}

// opsOf returns what a run of a script does, beside [Any]; nil if no fault can happen to it.
func opsOf(run check.Run) []Op {
	switch run.Script {
	case "":
		return nil
	case "obtain", "rw", "again":
		return []Op{Obtain}
	case "release":
		return []Op{Release}
	case "refresh":
		if run.NeverShortens() && run.TTL == time.Millisecond {
			return nil // no renewal: a Client that was told of a Break asks whether the keys are its own
		}
		return []Op{Refresh}
	case "batch":
		return opsOfMany(run)
	}
	return []Op{}
}

// opsOfMany returns what several calls do that travel as one: calls that take keys have a ttl.
func opsOfMany(run check.Run) (ops []Op) {
	for _, plain := range run.Batch {
		if plain.TTL == 0 {
			ops = append(ops, Release)
		} else {
			ops = append(ops, Obtain)
		}
	}
	return ops
}

// endFaults ends all faults, and reports faults that have met no request, unless the test has ended early.
func (s *Server) endFaults() {
	s.tb.Helper()
	s.Back()
	s.mu.Lock()
	faults := s.faults
	s.mu.Unlock()
	for _, f := range faults {
		if f.isUseless() && !s.tb.Failed() && !s.tb.Skipped() {
			s.tb.Errorf("locktest: no request has met the fault %s: the test shows nothing of it", f)
		}
		f.Stop()
	}
}

func (f *Fault) isUseless() bool {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	return f.met == 0 && !f.stopped
}
