package redislock

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Claims are the keys that Obtains under way and locks of this process count on, by token, as far
// as the token is known outside of one lock: then a clean-up after one Obtain could take away what
// another one of the same token holds. Tokens that were made for one lock and never shown need no
// claim.
type claims struct {
	realm any // stands for the server: the same token is another owner on another one
}

// An ownerName is what one token is called in the book.
type ownerName struct {
	realm any
	token string
}

// book has the claims of the process. They are not those of a Client, because the function Obtain
// makes one for each lock.
var book struct {
	sync.Mutex
	owners map[ownerName]*owner
	size   int // of owners after the last sweep
}

// An owner is what concerns one token.
type owner struct {
	claims    []*claim
	clearings []*clearing
}

// A claim is what one Obtain or one lock counts on.
type claim struct {
	keys []string
	lock *Lock // nil while the Obtain is under way
}

// A clearing is a clean-up, or a release that was not answered, that may still reach the server.
type clearing struct {
	keys  []string
	ended chan struct{} // closed when its outcome is there
	over  bool          // so it is
	lands moment        // then: until when its request may be on its way
}

// newClaims finds out on which server a client's tokens live. A client of a type of its own may keep
// them apart, by a prefix for example, so only the same one counts as the same server.
func newClaims(rdb redis.Scripter) *claims {
	switch rdb := rdb.(type) {
	case *redis.Client:
		return &claims{fmt.Sprint(rdb.Options().Addr, "/", rdb.Options().DB)}
	case *redis.ClusterClient:
		return &claims{strings.Join(rdb.Options().Addrs, ",")}
	case *redis.Ring:
		addrs := make([]string, 0, len(rdb.Options().Addrs))
		for _, addr := range rdb.Options().Addrs {
			addrs = append(addrs, addr)
		}
		sort.Strings(addrs)
		return &claims{strings.Join(addrs, ",")}
	}
	if v := reflect.ValueOf(rdb); v.IsValid() && v.Comparable() {
		return &claims{rdb}
	}
	return &claims{new(int)} // of nobody else
}

// name is that of a token's owner in the book.
func (c *claims) name(token string) ownerName { return ownerName{c.realm, token} }

// stake enters a claim.
func (c *claims) stake(token string, keys []string, lock *Lock) *claim {
	book.Lock()
	defer book.Unlock()
	of := c.ownerLocked(token)
	mine := &claim{keys: keys, lock: lock}
	of.claims = append(of.claims, mine)
	return mine
}

// await waits until no clean-up of the token can touch the keys any more, or ctx ends. Those that
// begin later leave claimed keys alone; one that was not answered is waited for as long as its
// request may be on its way. It reports false if ctx, or the Client, has ended first.
func (c *claims) await(ctx context.Context, ending <-chan struct{}, token string, keys []string) bool {
	for _, each := range c.clearingsOf(token, keys) {
		select {
		case <-each.ended:
		case <-ctx.Done():
			return false
		case <-ending:
			return false
		}
		book.Lock()
		wait := now().until(each.lands)
		book.Unlock()
		if wait == 0 {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			continue
		case <-ctx.Done():
		case <-ending:
		}
		timer.Stop()
		return false
	}
	return true
}

// errAstray says why an Obtain has not asked yet.
var errAstray = fmt.Errorf("%w: an earlier request for this token was not answered, and may still arrive", ErrNotObtained)

// clearingsOf returns the clean-ups of a token that concern some of the keys.
func (c *claims) clearingsOf(token string, keys []string) []*clearing {
	book.Lock()
	defer book.Unlock()
	of := book.owners[c.name(token)]
	if of == nil || len(of.clearings) == 0 {
		return nil
	}
	wanted := make(map[string]bool, len(keys))
	for _, key := range keys {
		wanted[key] = true
	}
	var concerned []*clearing
	for _, each := range of.clearings {
		if slices.ContainsFunc(each.keys, func(key string) bool { return wanted[key] }) {
			concerned = append(concerned, each)
		}
	}
	return concerned
}

// hand passes a claim on to the lock that came of it.
func (c *claims) hand(mine *claim, lock *Lock) {
	book.Lock()
	defer book.Unlock()
	mine.lock = lock
}

// reduce gives some keys of a claim up.
func (c *claims) reduce(mine *claim, keys []string) {
	if mine == nil || len(keys) == 0 {
		return
	}
	book.Lock()
	defer book.Unlock()
	mine.keys = without(mine.keys, keys)
}

// without returns those of the keys that are not among the others.
func without(keys, others []string) []string {
	gone := make(map[string]bool, len(others))
	for _, key := range others {
		gone[key] = true
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return gone[key] })
}

// waive gives a claim up.
func (c *claims) waive(token string, mine *claim) {
	if mine == nil {
		return
	}
	book.Lock()
	defer book.Unlock()
	if of := book.owners[c.name(token)]; of != nil {
		of.claims = slices.DeleteFunc(of.claims, func(other *claim) bool { return other == mine })
		c.forgetLocked(c.name(token), of, now())
	}
}

// clear begins a clean-up of those of the keys that nobody claims; nil if there are none. Its end
// has to be told with done.
func (c *claims) clear(token string, keys []string) *clearing {
	book.Lock()
	defer book.Unlock()
	of, at := c.ownerLocked(token), now()
	claimed := make(map[string]bool)
	for _, other := range of.claims {
		if other.lock != nil && other.lock.gone(at) {
			continue // left to expire
		}
		for _, key := range other.keys {
			claimed[key] = true
		}
	}
	free := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return claimed[key] })
	if len(free) == 0 {
		c.forgetLocked(c.name(token), of, at)
		return nil
	}
	mine := &clearing{keys: free, ended: make(chan struct{})}
	of.clearings = append(of.clearings, mine)
	return mine
}

// astray enters a release that nobody waits for any more, or of which a try may still be on its way:
// it frees its keys also if they are claimed by then. Its end has to be told with done.
func (c *claims) astray(token string, keys []string) *clearing {
	book.Lock()
	defer book.Unlock()
	of := c.ownerLocked(token)
	mine := &clearing{keys: keys, ended: make(chan struct{})}
	of.clearings = append(of.clearings, mine)
	return mine
}

// spares returns the indexes, from 1, of those of the keys that are claimed; a nil clean-up spares
// all of them.
func (c *clearing) spares(keys []string) []any {
	if c != nil && len(c.keys) == len(keys) {
		return nil
	}
	free := make(map[string]bool)
	if c != nil {
		for _, key := range c.keys {
			free[key] = true
		}
	}
	var spared []any
	for i, key := range keys {
		if !free[key] {
			spared = append(spared, i+1)
		}
	}
	return spared
}

// done ends a clean-up, whose request may still reach the server until it lands.
func (c *claims) done(token string, mine *clearing, lands moment) {
	if mine == nil {
		return
	}
	book.Lock()
	defer book.Unlock()
	mine.over, mine.lands = true, lands
	close(mine.ended)
	if of := book.owners[c.name(token)]; of != nil {
		c.forgetLocked(c.name(token), of, now())
	}
}

// ownerLocked finds what concerns a token. Locks that were left to expire waive nothing, so when
// the owners have doubled it looks for what is gone.
func (c *claims) ownerLocked(token string) *owner {
	if book.owners == nil {
		book.owners = make(map[ownerName]*owner)
	}
	name := c.name(token)
	of := book.owners[name]
	if of == nil {
		if len(book.owners) > 2*book.size+64 {
			c.sweepLocked()
		}
		of = &owner{}
		book.owners[name] = of
	}
	return of
}

func (c *claims) sweepLocked() {
	at := now()
	for name, of := range book.owners {
		of.claims = slices.DeleteFunc(of.claims, func(other *claim) bool {
			return other.lock != nil && other.lock.gone(at)
		})
		c.forgetLocked(name, of, at)
	}
	book.size = len(book.owners)
}

// forgetLocked drops the clean-ups that cannot touch anything any more, and with the last of them
// and of the claims the owner.
func (c *claims) forgetLocked(name ownerName, of *owner, at moment) {
	of.clearings = slices.DeleteFunc(of.clearings, func(each *clearing) bool {
		return each.over && !at.precedes(each.lands)
	})
	if len(of.claims) == 0 && len(of.clearings) == 0 {
		delete(book.owners, name)
	}
}
