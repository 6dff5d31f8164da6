package redislock

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Claims are the keys that Obtains under way and locks of a Client count on, by token, as far as
// the token is known outside of one lock: then a clean-up after one Obtain could take away what
// another one of the same token holds. Tokens that were made for one lock and never shown need
// no claim.
type claims struct {
	mu      sync.Mutex
	byToken map[string]*claimed
	size    int // of byToken after the last sweep
}

// claimed is what concerns one token.
type claimed struct {
	claims   []*claim
	clearing int           // clean-ups under way
	cleared  chan struct{} // closed when there are none left; made when somebody waits
	lands    moment        // until then a clean-up that was not answered may reach the server
}

// A claim is what one Obtain or one lock counts on.
type claim struct {
	keys []string
	lock *Lock // nil while the Obtain is under way
}

// stake enters a claim.
func (c *claims) stake(token string, keys []string, lock *Lock) *claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.ofLocked(token)
	mine := &claim{keys: keys, lock: lock}
	of.claims = append(of.claims, mine)
	return mine
}

// settle waits until no clean-up of the token can touch its keys any more, or ctx ends. Those that
// begin later leave claimed keys alone; one that was not answered is waited for as long as its
// request may be on its way.
func (c *claims) settle(ctx context.Context, token string) {
	for ctx.Err() == nil {
		c.mu.Lock()
		of := c.ofLocked(token)
		wait := of.lands.since(now())
		var cleared chan struct{}
		if of.clearing > 0 {
			if of.cleared == nil {
				of.cleared = make(chan struct{})
			}
			cleared = of.cleared
		}
		c.mu.Unlock()
		if cleared == nil && wait <= 0 {
			return
		}
		var landed <-chan time.Time
		if cleared == nil {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			landed = timer.C
		}
		select {
		case <-cleared:
		case <-landed:
		case <-ctx.Done():
		}
	}
}

// hand passes a claim on to the lock that came of it.
func (c *claims) hand(mine *claim, lock *Lock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine.lock = lock
}

// waive gives a claim up.
func (c *claims) waive(token string, mine *claim) {
	if mine == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := c.byToken[token]; of != nil {
		of.claims = slices.DeleteFunc(of.claims, func(other *claim) bool { return other == mine })
		c.forgetLocked(token, of)
	}
}

// clear begins a clean-up: it returns those of the keys that nobody claims. If there are any, done
// has to be called when they are cleared.
func (c *claims) clear(token string, keys []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	free := keys
	of := c.ofLocked(token)
	for _, other := range of.claims {
		kept := make(map[string]bool, len(other.keys))
		for _, key := range other.keys {
			kept[key] = true
		}
		free = slices.DeleteFunc(slices.Clone(free), func(key string) bool { return kept[key] })
	}
	if len(free) > 0 {
		of.clearing++
	}
	c.forgetLocked(token, of)
	return free
}

// done ends a clean-up, whose request may still reach the server until it lands.
func (c *claims) done(token string, lands moment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.byToken[token]
	of.clearing--
	if lands.reached(of.lands) {
		of.lands = lands
	}
	if of.clearing == 0 && of.cleared != nil {
		close(of.cleared)
		of.cleared = nil
	}
	c.forgetLocked(token, of)
}

// ofLocked finds what concerns a token. Locks that were left to expire waive nothing, so when the
// tokens have doubled it looks for those that are gone.
func (c *claims) ofLocked(token string) *claimed {
	if c.byToken == nil {
		c.byToken = make(map[string]*claimed)
	}
	of := c.byToken[token]
	if of == nil {
		if len(c.byToken) > 2*c.size+64 {
			c.sweepLocked()
		}
		of = &claimed{}
		c.byToken[token] = of
	}
	return of
}

func (c *claims) sweepLocked() {
	at := now()
	for token, of := range c.byToken {
		of.claims = slices.DeleteFunc(of.claims, func(other *claim) bool {
			return other.lock != nil && other.lock.gone(at)
		})
		c.forgetLocked(token, of)
	}
	c.size = len(c.byToken)
}

func (c *claims) forgetLocked(token string, of *claimed) {
	if len(of.claims) == 0 && of.clearing == 0 && now().reached(of.lands) {
		delete(c.byToken, token)
	}
}
