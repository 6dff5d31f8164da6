package quorum

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/circle"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/serial"
	"github.com/seed-14de3678/redislock/internal/shown"
)

// A Lock is one hold of a set of keys, by a majority of the nodes. It is safe for concurrent use. A nil
// Lock and a zero one hold nothing: each of their operations that can fail returns a
// [redislock.ErrLockNotHeld].
type Lock struct {
	quorum   *Client
	any      *redislock.Lock // one that was granted at first: it knows the set
	number   int64           // its fencing number; 0 without
	obtained clock.Moment    // zero for Attach
	keep     clock.Moment    // if a Release comes before, it leaves the keys until then; zero: it frees them
	attached bool            // it is of Attach
	faulty   error           // of Attach: every operation returns it

	endings serial.Turns // one Release at a time: if two shared the nodes, neither would have freed a majority

	mu       sync.Mutex
	want     want // its ttl is the ttl of the last Refresh
	state    state
	gone     atomic.Bool // it is not held any more, or never was; written under mu
	holds    []hold      // by node
	deadline time.Time   // of a lock that is not held any more
	why      error       // it was lost
	missed   bool        // the Release that has ended it has found that it was lost
	watched  bool        // every node tells when it loses the lock
	timer    *time.Timer // of the next win-back; nil before the first
	armed    bool        // it runs
	lost     chan struct{}
	told     circle.Circle // the contexts
	// announced is set once the hooks know of the lock: from then on they are told of its loss.
	announced bool
}

type state uint8

const (
	held state = iota
	released
	lost
)

// A hold is the part of a lock that one node has. Its fields are guarded by the mutex of the lock.
type hold struct {
	lock    *redislock.Lock // nil: not held
	former  *redislock.Lock // lost, but perhaps not free yet
	why     error           // that was lost; nil if it was not
	unwatch func() bool     // nil: nobody watches it
	asked   bool            // it is being asked for
	stop    func()          // ends that; nil if it is a part of the Obtain
	barred  bool            // it would be refused for good
}

// isNothing reports whether no Obtain has returned the lock.
func (l *Lock) isNothing() bool { return l == nil || l.quorum == nil }

// usable returns why nothing can be done with the lock at all; nil if something can.
func (l *Lock) usable() error {
	switch {
	case l != nil && l.faulty != nil:
		return l.faulty
	case l.isNothing():
		return errNothing
	}
	return nil
}

// Keys returns the set: the write keys, then the read keys, without repetitions.
func (l *Lock) Keys() []string {
	if l.isNothing() {
		return nil
	}
	return l.any.Keys()
}

// Metadata returns the metadata that is stored with the keys.
func (l *Lock) Metadata() string {
	if l.isNothing() {
		return ""
	}
	return l.any.Metadata()
}

// Fence returns the fencing number of the lock, or 0 if it was obtained without
// [redislock.Options].Fenced. It is the greatest of the numbers that the nodes have given, and a
// majority had it stored before Obtain returned. So it is greater than the number of every earlier
// lock with one of its keys, as long as the servers keep what they have stored, or their clocks
// agree: see the package comment.
func (l *Lock) Fence() int64 {
	if l.isNothing() {
		return 0
	}
	return l.number
}

// Nodes returns how many of the nodes hold the lock, as far as is known.
func (l *Lock) Nodes() int {
	if l.isNothing() {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.liveLocked()
}

// Deadline returns the end of the time for which the lock is certain: until then a majority of the
// nodes holds it, each by its own deadline. Each Refresh moves it, and so do the watchdog and nodes
// that are won back. It is the zero time for an attached lock that was not refreshed.
func (l *Lock) Deadline() time.Time {
	if l.isNothing() {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadlineLocked()
}

func (l *Lock) deadlineLocked() time.Time {
	if l.state != held {
		return l.deadline
	}
	var room [9]time.Time
	deadlines := room[:0]
	for i := range l.holds {
		if lock := l.holds[i].lock; lock != nil {
			deadlines = append(deadlines, lock.Deadline())
		}
	}
	if len(deadlines) < l.quorum.need {
		return l.deadline
	}
	slices.SortFunc(deadlines, func(a, b time.Time) int { return b.Compare(a) })
	return deadlines[l.quorum.need-1]
}

// liveLocked counts the nodes that hold it. Once an attached lock was refreshed, it counts the nodes that have
// confirmed that.
func (l *Lock) liveLocked() int {
	refreshed := l.attached && l.want.ttl > 0
	n := 0
	for i := range l.holds {
		if lock := l.holds[i].lock; lock != nil && (!refreshed || !lock.Deadline().IsZero()) {
			n++
		}
	}
	return n
}

// give prepares the lock for its caller; false: it was lost meanwhile. A Release that comes before atLeast is over
// leaves the keys.
func (l *Lock) give(atLeast time.Duration) bool {
	l.holdFor(atLeast)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == held
}

// holdFor has a Release within the next d leave the keys for the rest of that time.
func (l *Lock) holdFor(d time.Duration) {
	if d <= 0 {
		return
	}
	until := clock.Now().Add(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = l.keep.Later(until)
}

// adoptLocked takes over what the nodes have granted. If that is too little, the lock is only there
// to be released.
func (l *Lock) adoptLocked(r *round) {
	for i := range r.answers {
		a, h := &r.answers[i], &l.holds[i]
		switch a.kind {
		case yes:
			h.lock = a.lock
			if l.any == nil {
				l.any = a.lock
			}
			l.number = max(l.number, a.lock.Fence())
		case open:
			h.asked = true
		default:
			h.barred = lasts(a.err)
		}
	}
	if r.yes < r.need {
		l.state = released
		l.gone.Store(true)
		return
	}
	if l.want.opt.Watchdog {
		l.watchLocked()
		l.armLocked()
	}
}

// joined takes in the answer of a node that was asked for the lock. It returns nil if the node holds it
// now. If a grant comes too late to count, the caller has to release it.
func (l *Lock) joined(ctx context.Context, i int, a answer) error {
	lock, err := a.lock, a.err
	if lock != nil && l.want.opt.Fenced && !l.ended() {
		err = lock.RaiseFence(ctx, l.number)
	}
	l.mu.Lock()
	h := &l.holds[i]
	h.asked = false
	if err == nil && (l.state != held || !time.Now().Before(l.deadlineLocked())) {
		err = errTooLate
	}
	if err == nil {
		h.lock, h.former, h.why = lock, nil, nil
		if l.watched {
			l.watchNodeLocked(i)
		}
	} else {
		h.barred = lasts(err)
		l.armLocked()
	}
	l.mu.Unlock()
	return err
}

// within is the key under which a context has the lock that a function runs under.
type within struct{}

// FromContext returns the lock under which a function runs: the lock of the innermost [Client.With] or
// [Lock.Context] from which ctx is derived. It returns nil if there is none. A nil Lock can be asked:
// it has no keys, no deadline and no fencing number. A lock that was released or lost meanwhile is
// returned as well.
//
// [redislock.FromContext] finds neither such a lock nor its locks at the single nodes.
func FromContext(ctx context.Context) *Lock {
	l, _ := ctx.Value(within{}).(*Lock)
	return l
}

// errNothing is the error of a lock that no Obtain has returned.
var errNothing = fmt.Errorf("%w: no Obtain has returned it", redislock.ErrLockNotHeld)

// String says what the lock holds, and for how much longer it is certain. It never has the token.
func (l *Lock) String() string { return l.shown().String() }

// GoString is String for the verb %#v.
func (l *Lock) GoString() string { return "*quorum.Lock(" + l.String() + ")" }

// LogValue is String in fields, for a log of package slog.
func (l *Lock) LogValue() slog.Value { return l.shown().LogValue() }

func (l *Lock) shown() shown.Lock {
	if l.isNothing() {
		return shown.Lock{}
	}
	of := shown.Lock{Until: l.Deadline()}
	keys := l.Keys()
	if l.attached {
		of.Unknown = keys
	} else {
		read := len(keys) - min(len(keys), l.writes())
		of.Write, of.Read = keys[:len(keys)-read], keys[len(keys)-read:]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case released:
		of.Ended = "released"
	case lost:
		of.Ended = "lost"
	}
	return of
}

// writes is how many of the keys are write keys. These come first.
func (l *Lock) writes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	distinct := make(map[string]bool, len(l.want.set.Write))
	for _, key := range l.want.set.Write {
		distinct[key] = true
	}
	return len(distinct)
}
