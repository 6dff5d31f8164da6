package owners

import (
	"slices"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A Claim is the keys that one operation which takes keys, or one hold, counts on.
type Claim struct {
	keys  []string
	over  func(clock.Moment) bool // reports whether the hold has ended by itself; nil while the operation is under way
	by    Client
	of    any   // the lock
	since int64 // see Owner.begun
}

func (c *Claim) isOver(at clock.Moment) bool { return c.over != nil && c.over(at) }

// Since returns when the claim was entered, by the count of Begin.
func (c *Claim) Since() int64 { return c.since }

// Begin counts an operation that begins. The owner may be nil: then nobody else knows its token.
func (o *Owner) Begin() int64 {
	if o == nil {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun++
	return o.begun
}

// Stake enters a claim of a lock: of an operation that begins if over is nil, else of a hold.
func (o *Owner) Stake(by Client, of any, keys []string, over func(clock.Moment) bool) *Claim {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun++
	mine := &Claim{keys: keys, over: over, by: by, of: of, since: o.begun}
	o.claims = append(o.claims, mine)
	return mine
}

// Holds turns the claim of an operation into the claim of the hold that it has obtained.
func (o *Owner) Holds(mine *Claim, over func(clock.Moment) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	mine.over = over
}

// Reduce takes some keys out of a claim, which may be nil.
func (o *Owner) Reduce(mine *Claim, keys []string) {
	if mine == nil || len(keys) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	mine.keys = Without(mine.keys, keys)
}

// Drop ends a claim, which may be nil.
func (o *Owner) Drop(mine *Claim) {
	if mine == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.claims = slices.DeleteFunc(o.claims, func(other *Claim) bool { return other == mine })
}

// Yields reports whether others have begun to count on some of the keys of a request since its operation began.
func (o *Owner) Yields(r *Note) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.youngerLocked(r)) > 0
}

// youngerLocked returns the claims on some of the keys of a request that others have entered since its operation began. Its
// own lock may have entered one as well, if callers got its token meanwhile. A claim through another Redis client may be about
// another server. It concerns clean-ups alone, which have no beginning and can wait: they leave a key to a lock on another
// server for as long as that lasts, or until their own lease is over.
func (o *Owner) youngerLocked(r *Note) (younger []*Claim) {
	if len(o.claims) == 0 {
		return nil
	}
	at := clock.Now()
	for _, other := range o.claims {
		switch {
		case other.since <= r.Since, other.of == r.Of, other.isOver(at), !HaveCommon(other.keys, r.Keys):
		case r.Since == 0, other.by.Identity() == r.By.Identity():
			younger = append(younger, other)
		}
	}
	return younger
}

// Without returns the keys that are not among the others.
func Without(keys, others []string) []string {
	gone := make(map[string]bool, len(others))
	for _, key := range others {
		gone[key] = true
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return gone[key] })
}

// HaveCommon reports whether two sets have a key in common.
func HaveCommon(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && a[0] == b[0] || len(Without(a, b)) < len(a) // in most cases it is the same set
}
