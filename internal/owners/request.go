package owners

import (
	"slices"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// An Effect is what a request does to what its owner holds.
type Effect uint8

const (
	// Lengthens makes nothing less, so it is never late.
	Lengthens Effect = iota
	// Takes is the effect of an operation that takes keys.
	Takes
	// Lessens may free keys, shorten leases or change modes.
	Lessens
)

// A Note is what an owner has to know of a request before it is sent, and what it says for the next try.
type Note struct {
	Owner  *Owner
	Effect Effect
	Caller Caller
	Keys   []string
	Home   string // the line where it asks for the guard of its owner
	By     Client
	Of     any   // the lock that sends it
	Since  int64 // when the operation has begun: see Owner.Begin; 0: it has no beginning, as clean-ups have none
	Frees  bool  // it spares what others count on since then
	Reads  bool  // it takes read keys, which may be write keys of its token
	Stamp  Stamp // of the next try

	last  *Sent // of the latest try, if it matters to the owner
	flies bool  // the latest try is under way
}

// A Caller waits for the answer to a request, until it has gone.
type Caller interface{ IsAbandoned() bool }

// A Stamp is what the next try of a request has to say.
type Stamp struct {
	Numbered bool    // it says its name
	Name     Name    // the latest one, even if the next try does not say it
	Closes   []*Sent // what it closes if it is answered
	Spared   []int   // indexes of the keys that it must not free
	Yields   bool    // others count on some of its keys since its operation began
	Known    bool    // callers know the token
}

// A Sent is what an owner knows of one try of a request that was sent.
type Sent struct {
	Name
	Home    string // the line where its guard would stand
	keys    []string
	lessens bool
	flies   bool // it is under way, and its caller waits for it
	open    bool // it was not answered, or its caller has gone
	closed  bool // a later request that has closed it was answered, and came by the same Redis client
	at      clock.Moment
	by      Client
	// others are other Redis clients by which a request came that has closed it. If they lead to the same server it is
	// closed there; if not it does not matter there.
	others []Client
}

// Send numbers the next try of a request, right before it is sent. It reports false if the caller has gone: then the
// request must not be sent. A caller that goes later finds the request under way when it calls Leave. Whatever it sends
// then closes the request. Otherwise a request could follow the clean-up of its caller, and take keys for nobody.
func (o *Owner) Send(r *Note) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.flies = true; r.Caller.IsAbandoned() {
		r.flies = false
		return false
	}
	behind := o.behindLocked(r)
	if slices.ContainsFunc(behind, func(s *Sent) bool { return s.Name == o.name }) {
		o.countLocked()
	}
	r.Stamp = Stamp{Name: r.Stamp.Name, Closes: behind, Known: o.shared}
	if r.Effect != Lengthens {
		o.yieldLocked(r)
	}
	if r.Effect == Lengthens && len(behind) == 0 {
		return true
	}
	r.Stamp.Numbered, r.Stamp.Name = true, o.name
	if len(behind) > 0 {
		o.guarded = clock.Now().Add(GuardLife)
	}
	if r.Effect != Lengthens && o.shared {
		o.noteLocked(r).flies = true
	}
	return true
}

// countLocked takes the next number. After the last number it takes another id.
func (o *Owner) countLocked() {
	if o.name.Number++; o.name.Number == LastNumber {
		o.name = Name{ID: NewID()}
	}
}

// behindLocked returns the earlier requests that this one has to close. A request under way is one of them if it may
// undo what an operation does that takes keys.
func (o *Owner) behindLocked(r *Note) (behind []*Sent) {
	if len(o.sent) == 0 {
		return nil
	}
	at := clock.Now()
	for _, s := range o.sent {
		if at.Reached(s.at.Add(GuardLife)) {
			continue // no guard would stand for so long
		}
		undoes := r.Effect == Takes && s.flies && s.lessens
		if (s.open || undoes) && !s.isClosed(r.By) && HaveCommon(s.keys, r.Keys) {
			behind = append(behind, s)
		}
	}
	return behind
}

// isClosed reports whether a request sent by this client need not close this one any more.
func (s *Sent) isClosed(by Client) bool {
	return s.closed || slices.ContainsFunc(s.others, func(other Client) bool { return other.Identity() == by.Identity() })
}

// yieldLocked has a request that is about to be sent spare the keys that others count on since its operation began.
func (o *Owner) yieldLocked(r *Note) {
	younger := o.youngerLocked(r)
	if r.Stamp.Yields = len(younger) > 0; !r.Stamp.Yields || !r.Frees {
		return
	}
	counted := make(map[string]bool)
	for _, other := range younger {
		for _, key := range other.keys {
			counted[key] = true
		}
	}
	for i, key := range r.Keys {
		if counted[key] {
			r.Stamp.Spared = append(r.Stamp.Spared, i)
		}
	}
}

// noteLocked notes the latest try of a request.
func (o *Owner) noteLocked(r *Note) *Sent {
	if r.last == nil || r.last.Name != r.Stamp.Name {
		r.last = &Sent{
			Name: r.Stamp.Name, keys: r.Keys, Home: r.Home,
			lessens: r.Effect == Lessens || r.Reads, at: clock.Now(), by: r.By,
		}
	}
	if !slices.Contains(o.sent, r.last) {
		o.sent = append(o.sent, r.last)
	}
	return r.last
}

// Settle handles the end of a try: whether it was answered and has closed what it was to close, and whether it may
// still be executed later.
func (o *Owner) Settle(r *Note, closed, mayCome bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if closed {
		for _, s := range r.Stamp.Closes {
			if s.by.Identity() == r.By.Identity() {
				s.closed = true
			} else {
				s.others = append(s.others, r.By)
			}
		}
	}
	r.flies, r.Stamp.Closes = false, nil
	if s := r.last; s != nil && s.Name == r.Stamp.Name {
		s.flies, s.open = false, false
	}
	if mayCome && r.Effect != Lengthens {
		o.openLocked(r)
	}
	o.tidyLocked()
}

// Abandon notes that the caller of a request has gone: if the request is under way, it may be executed at any time. It
// is under way if Send was called for its latest try, or if flies is set.
func (o *Owner) Abandon(r *Note, flies bool) {
	if r.Effect == Lengthens {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.flies || flies {
		o.openLocked(r)
	}
}

// openLocked notes that the latest try of a request may be executed at any time. It stands for earlier tries that were
// alike: a request that closes it closes them, too.
func (o *Owner) openLocked(r *Note) {
	s := o.noteLocked(r)
	s.flies, s.open = false, true
	o.sent = slices.DeleteFunc(o.sent, func(other *Sent) bool {
		return other != s && other.open && !other.flies && other.ID == s.ID && other.Home == s.Home &&
			other.by == s.by && other.lessens == s.lessens && slices.Equal(other.keys, s.keys)
	})
}
