// Package owners knows the tokens under which this process holds keys: whoever holds keys under one token
// is one owner. It gives the requests of an owner their numbers, so that one that was not answered can be
// closed by a later one, and it knows which keys of an owner others of the token count on.
package owners

import (
	"slices"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

const (
	// GuardLife is how long a guard stands, and a little more.
	GuardLife = 5*time.Minute + 10*time.Second
	// LastNumber is greater than the number of every request; a guard may have it.
	LastNumber = 1<<20 - 1
)

// An Owner is whoever holds keys under one token: one lock, or, if callers know the token, everybody in this
// process who uses it. It gives requests their numbers.
//
// The number goes up only when a request is sent behind one that was not answered, and has a key in common
// with it. Then the new one closes the old one: it sets a guard in its home line. From the answer on the old
// one cannot do anything any more. As long as all requests are answered nothing is counted, and there is no
// guard. The zero Owner is that of a token that only one lock knows. It is safe for concurrent use.
type Owner struct {
	mu     sync.Mutex
	name   Name // of the requests that are sent now
	shared bool // callers know the token
	// sent are the requests that are to be reckoned with: if the owner is shared, all that are not answered,
	// else those for whose answer nobody waits any more.
	sent    []*Sent
	guarded clock.Moment // until then a guard may stand

	users int // how many use it, beside claims and requests

	// Of a shared one.
	claims []*Claim
	begun  int64 // counts operations, so that it is known which of two has begun later
}

// A Name is what a request is known by in Redis: the id of its owner, and its number.
type Name struct {
	ID     string // empty: the token
	Number int64
}

// A Client is that through which requests are sent.
type Client interface {
	// Identity is the same for all that share a Redis client, which may be of the same server.
	Identity() any
	// InVirtualTime reports whether it lives in the virtual time of a test.
	InVirtualTime() bool
}

// known has the owners whose tokens callers know. It is that of the process, because there may be a client for
// each lock. It does not ask which server they are on: whoever is wrong about that counts too often, or leaves
// to another what nobody has, and asks for it again.
var known struct {
	sync.Mutex
	byToken map[string]*Owner
	size    int // of owners after the last sweep
}

// Of finds the owner of a token that callers know. Whoever has it has to end that with Done.
func Of(token string) *Owner {
	known.Lock()
	defer known.Unlock()
	o := known.byToken[token]
	if o == nil {
		o = &Owner{name: Name{ID: NewID()}}
		enterLocked(token, o)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shared = true
	o.users++
	return o
}

// enterLocked enters an owner. Locks that were left to expire waive nothing, so when the owners have doubled
// it looks for those that are of no use any more.
func enterLocked(token string, o *Owner) {
	if known.byToken == nil {
		known.byToken = make(map[string]*Owner)
	}
	if len(known.byToken) > 2*known.size+64 {
		for token, o := range known.byToken {
			if o.isIdle() {
				delete(known.byToken, token)
			}
		}
		known.size = len(known.byToken)
	}
	known.byToken[token] = o
}

// Use begins to use an owner whose token callers may not know. It ends with Done.
func (o *Owner) Use() *Owner {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.users++
	return o
}

// Show enters the owner of a token that was made for one lock: from now on callers know it. It returns the
// owner, which is another one if somebody has known the token before. It ends with Done.
func (o *Owner) Show(token string) *Owner {
	known.Lock()
	defer known.Unlock()
	o.mu.Lock()
	o.shared = true
	sent := o.sent
	o.mu.Unlock()
	if other := known.byToken[token]; other == nil {
		enterLocked(token, o)
	} else if other != o {
		o = other
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range sent {
		if !slices.Contains(o.sent, s) {
			o.sent = append(o.sent, s)
		}
	}
	o.users++
	return o
}

// Done ends what Of, Use or Show has begun.
func (o *Owner) Done(token string) {
	o.mu.Lock()
	o.users--
	shared := o.shared
	o.mu.Unlock()
	if shared {
		o.forget(token)
	}
}

// forget drops an owner that is of no use any more.
func (o *Owner) forget(token string) {
	known.Lock()
	defer known.Unlock()
	if known.byToken[token] == o && o.isIdle() {
		delete(known.byToken, token)
	}
}

// isIdle reports whether nothing would be known less without the owner. What was not answered is forgotten
// when a guard against it would have ended, too.
func (o *Owner) isIdle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := clock.Now()
	o.tidyLocked()
	o.claims = slices.DeleteFunc(o.claims, func(c *Claim) bool { return c.isOver(at) })
	return o.users == 0 && len(o.sent) == 0 && len(o.claims) == 0 && !at.Precedes(o.guarded)
}

// tidyLocked drops the requests that need not be reckoned with any more.
func (o *Owner) tidyLocked() {
	if len(o.sent) == 0 {
		return // as it most often is: then reading the clock would be most of what this costs
	}
	at := clock.Now()
	o.sent = slices.DeleteFunc(o.sent, func(s *Sent) bool {
		return !s.flies && (!s.open || s.closed || at.Reached(s.at.Add(GuardLife)))
	})
}
