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
	// Release is every request that gives keys back: those of Release, ReleaseKeys and Leave, that of
	// an Obtain that gives up its place in line, and clean-ups in the background.
	Release Op = "release"
)

// A Fault is what happens to requests of locks on their way to the server. It is made by [Server.Refuse],
// [Server.Delay], [Server.Cut] or [Server.Drop], and happens once: to the next request. If there are
// several faults, the oldest one that aims at a request happens to it.
//
// A Client sends a request again that was not answered, or that the server is not ready for: as often as
// MaxRetries of the Redis client says, 3 times by default, within a second. Renewals by the watchdog are not sent
// again, but the next one comes after a ninth of the ttl. So one Cut, one Drop and one refusal with
// READONLY or LOADING change nothing but the time that it takes. For more, see [Fault.Times] and
// [Fault.Always].
type Fault struct {
	server *Server
	op     Op
	kind   kind
	answer refusal
	delay  time.Duration

	// Guarded by the mutex of the server.
	times   int // to how many requests it happens; negative: to all
	met     int // to how many it has happened
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

// Refuse has the next request of an operation answered with an error of the server, such as "NOPERM this
// user has no permissions", "OOM command not allowed" or "READONLY You can't write against a read only
// replica.". It is not executed.
func (s *Server) Refuse(op Op, answer string) *Fault {
	return s.add(&Fault{op: op, kind: refuses, answer: refusal(answer)})
}

// Delay has the next request of an operation reach the server so much later. If that is longer than the
// ReadTimeout of the Redis client, 5 s by default, the caller gives up by then, and the request is executed
// late.
func (s *Server) Delay(op Op, by time.Duration) *Fault {
	return s.add(&Fault{op: op, kind: delays, delay: by})
}

// Cut has the next request of an operation executed, but its answer is lost: the connection ends.
func (s *Server) Cut(op Op) *Fault { return s.add(&Fault{op: op, kind: cuts}) }

// Drop has the next request of an operation lost: the connection ends before the server has read it. For
// the caller it is the same as a Cut.
func (s *Server) Drop(op Op) *Fault { return s.add(&Fault{op: op, kind: drops}) }

func (s *Server) add(f *Fault) *Fault {
	f.server, f.times = s, 1
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
	return f
}

// Times has the fault happen to the next n requests, counted from the first. It returns the fault.
func (f *Fault) Times(n int) *Fault { return f.set(n) }

// Always has the fault happen to every request until [Fault.Stop], or until the end of the test. It
// returns the fault.
func (f *Fault) Always() *Fault { return f.set(-1) }

func (f *Fault) set(times int) *Fault {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	f.times = times
	return f
}

// Stop ends the fault. A test that has stopped a fault does not fail because it has met no request.
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

// opsOf returns what a run of a script does, beside [Any]; nil if it is none that meets a fault.
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

// opsOfMany returns what those do whose calls travel as one: those who take keys have a ttl.
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

// endFaults ends all faults, and reports those that were of no use, unless the test has not come so far.
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
