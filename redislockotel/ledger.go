package redislockotel

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-14de3678/redislock"
)

const (
	// longestGrace is how long a lock is remembered at most after its lease is over.
	longestGrace = time.Minute
	// sweepEvery is how often Obtains look for locks to forget, also if nobody collects metrics.
	sweepEvery = 10 * time.Second
)

// A ledger has the Obtains that wait and the locks that are held at the moment, by Event.ID. So each of
// them is counted out as often as it was counted in, whatever else happens to it.
type ledger struct {
	fixed []attribute.KeyValue

	mu       sync.Mutex
	all      map[label]*series
	names    map[string]bool
	waits    map[uint64]*series
	holds    map[uint64]*hold
	swept    time.Time
	failures map[failure][]metric.AddOption
}

// A hold is a lock that is held, or was until its lease was over.
type hold struct {
	series  *series
	span    trace.Span // nil if nothing is recorded
	expires time.Time  // zero: the lock does not end by itself
	forget  time.Time  // its end if nobody releases it until then
	over    bool       // its lease is over, and it counts as held no more
}

// A failure is an error of the server.
type failure struct{ operation, kind string }

func newLedger(fixed []attribute.KeyValue) *ledger {
	return &ledger{
		fixed: fixed, swept: time.Now(),
		all: map[label]*series{}, names: map[string]bool{},
		waits: map[uint64]*series{}, holds: map[uint64]*hold{},
		failures: map[failure][]metric.AddOption{},
	}
}

// seriesOf returns the series of an event.
func (l *ledger) seriesOf(e *redislock.Event) *series {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seriesLocked(e)
}

func (l *ledger) seriesLocked(e *redislock.Event) *series {
	at := label{e.Name, e.Mode, e.Way}
	if s := l.all[at]; s != nil {
		return s
	}
	if at.name = legible(at.name); at.name != "" && !l.names[at.name] {
		if len(l.names) < mostNames {
			l.names[at.name] = true
		} else {
			at.name = otherName
		}
	}
	s := l.all[at]
	if s == nil {
		s = newSeries(l.fixed, at)
		l.all[at] = s
	}
	return s
}

// measured returns the attributes of a measurement in a series.
func (l *ledger) measured(s *series, kind string) measured {
	if kind == "" {
		return s.plain
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.measuredLocked(kind)
}

// failed returns the attributes of an error of the server.
func (l *ledger) failed(operation, kind string) []metric.AddOption {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := failure{operation, kind}
	if l.failures[at] == nil {
		attributes := append([]attribute.KeyValue{operationKey.String(operation), errorKey.String(kind)}, l.fixed...)
		l.failures[at] = newMeasured(attributes).add
	}
	return l.failures[at]
}

// wait counts in an Obtain that waits.
func (l *ledger) wait(e *redislock.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.seriesLocked(e)
	l.waits[e.ID] = s
	s.waiting++
}

// waited counts it out.
func (l *ledger) waited(e *redislock.Event) *series {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.waits[e.ID]; s != nil {
		l.waitsNoMoreLocked(e.ID)
		return s
	}
	return l.seriesLocked(e) // another hook has panicked before, and nobody was told that it waits
}

func (l *ledger) waitsNoMoreLocked(id uint64) {
	if s := l.waits[id]; s != nil {
		delete(l.waits, id)
		s.waiting--
	}
}

// hold counts in a lock. It reports whether it is the first one of its series, and returns locks to forget.
func (l *ledger) hold(e *redislock.Event, s *series, span trace.Span) (first bool, gone []*hold) {
	at := time.Now()
	h := &hold{series: s, span: span}
	h.lasts(at, e.Expires)
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.Sub(l.swept) >= sweepEvery {
		gone = l.sweepLocked(at)
	}
	l.holds[e.ID] = h
	first, s.begun = !s.begun, true
	s.held++
	return first, gone
}

// lasts takes note of when the lock ends by itself.
func (h *hold) lasts(at, expires time.Time) {
	h.expires = expires
	h.forget = expires.Add(min(longestGrace, max(0, expires.Sub(at))))
}

// refresh takes note of a new lease. A lock may have got it just after the last one was over.
func (l *ledger) refresh(e *redislock.Event) (gone []*hold) {
	if e.Expires.IsZero() {
		return nil
	}
	at := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.holds[e.ID]
	if h == nil || h.expires.IsZero() {
		return nil
	}
	if l.ageLocked(e.ID, h, at) {
		return []*hold{h}
	}
	if !at.Before(e.Expires) {
		return nil
	}
	if h.over {
		h.over = false
		h.series.held++
	}
	h.lasts(at, e.Expires)
	return nil
}

// end counts out a lock, which is nil if it has ended before.
func (l *ledger) end(e *redislock.Event) (h *hold, gone []*hold) {
	at := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waitsNoMoreLocked(e.ID) // another hook has panicked before, and nobody was told
	if h = l.holds[e.ID]; h == nil {
		return nil, nil
	}
	if l.ageLocked(e.ID, h, at) {
		return nil, []*hold{h}
	}
	l.dropLocked(e.ID, h)
	return h, nil
}

func (l *ledger) dropLocked(id uint64, h *hold) {
	delete(l.holds, id)
	if !h.over {
		h.series.held--
	}
}

// ageLocked notes whether the lease of a lock is over by now, and reports whether the lock is to be forgotten.
func (l *ledger) ageLocked(id uint64, h *hold, at time.Time) (forgotten bool) {
	if h.expires.IsZero() || at.Before(h.expires) {
		return false
	}
	if !h.over {
		h.over = true
		h.series.held--
	}
	if at.Before(h.forget) {
		return false
	}
	l.dropLocked(id, h)
	h.series.expired++
	return true
}

// sweepLocked does so for all locks, and returns the locks that are forgotten now.
func (l *ledger) sweepLocked(at time.Time) (gone []*hold) {
	l.swept = at
	for id, h := range l.holds {
		if l.ageLocked(id, h, at) {
			gone = append(gone, h)
		}
	}
	return gone
}

// A count has the counts of the moment of one series.
type count struct {
	series                 *series
	waiting, held, expired int64
}

// counts returns the counts of all series, also where nothing waits or is held any more: without a report a count
// would be unknown, and not 0.
func (l *ledger) counts(at time.Time) (all []count, gone []*hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	gone = l.sweepLocked(at)
	for _, s := range l.all {
		if !s.attached {
			all = append(all, count{s, s.waiting, s.held, s.expired})
		}
	}
	return all, gone
}
