// Package owners knows the tokens under which this process holds keys: all that hold keys under one token are one
// owner. It gives the requests of an owner their numbers, so that a later request can close one that was not answered.
// It also knows which keys of an owner other locks of the token count on.
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

// An Owner is all that hold keys under one token. It is one lock, or, if callers know the token, everyone in this
// process who uses it. It gives requests their numbers.
//
// The number goes up only when a request follows one that was not answered, and has a key in common with it. Then the
// new request closes the old one: it sets a guard in its home line. After the answer the old request cannot do anything
// any more. While all requests are answered nothing is counted, and there is no guard. The zero Owner has a token that
// only one lock knows. It is safe for concurrent use.
type Owner struct {
	mu     sync.Mutex
	name   Name // of the requests that are sent now
	shared bool // callers know the token
	// sent are the requests that still matter. If the owner is shared these are all that are not answered, else those
	// that were abandoned.
	sent    []*Sent
	guarded clock.Moment // until then a guard may stand

	users int // how many use it, beside claims and requests

	// For a shared owner.
	claims []*Claim
	begun  int64 // counts operations, to tell which of two began later
}

// A Name is how a request is known in Redis: by the id of its owner, and its number.
type Name struct {
	ID     string // empty: the token
	Number int64
}

// A Client sends the requests.
type Client interface {
	// Identity is the same for all Clients of one Redis client, even if others lead to the same server.
	Identity() any
}

// known has the owners of tokens that callers know. It is one for the process, because there may be a client for each
// lock. It does not know which server they are on. If they are on different ones, it counts too often, or leaves a key
// to another that does not have it, and asks for it again.
var known struct {
	sync.Mutex
	byToken map[string]*Owner
	size    int // of owners after the last sweep
}

// Of finds the owner of a token that callers know. The caller must end its use with Done.
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

// enterLocked enters an owner. Locks that were left to expire do not say so. So when the number of owners has doubled
// it looks for owners that are of no use any more.
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

// Use begins to use an owner with a token that callers may not know. It ends with Done. The owner may be nil.
func (o *Owner) Use() *Owner {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.users++
	return o
}

// Show enters the owner of a token that was made for one lock: from now on callers know it. It returns the owner, which
// is another one if callers have known the token before. It ends with Done.
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

// Done ends what Of, Use or Show has begun. The owner may be nil.
func (o *Owner) Done(token string) {
	if o == nil {
		return
	}
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

// isIdle reports whether no knowledge is lost without the owner. An unanswered request is forgotten when a guard
// against it would have ended, too.
func (o *Owner) isIdle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := clock.Now()
	o.tidyLocked()
	o.claims = slices.DeleteFunc(o.claims, func(c *Claim) bool { return c.isOver(at) })
	return o.users == 0 && len(o.sent) == 0 && len(o.claims) == 0 && !at.Precedes(o.guarded)
}

// tidyLocked drops the requests that do not matter any more.
func (o *Owner) tidyLocked() {
	if len(o.sent) == 0 {
		return // as is usual: then reading the clock would be most of the cost
	}
	at := clock.Now()
	o.sent = slices.DeleteFunc(o.sent, func(s *Sent) bool {
		return !s.flies && (!s.open || s.closed || at.Reached(s.at.Add(GuardLife)))
	})
}
