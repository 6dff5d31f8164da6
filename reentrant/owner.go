package reentrant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// ErrNoOwner says that the context has no owner, because [NewOwner] was not called or its context
// was not handed down. Nothing is sent. An owner that is made up for one call would wait for the
// owner that is missing.
var ErrNoOwner = errors.New("the context has no owner, see NewOwner")

// NewOwner returns a context with a new owner, which holds nothing. This owner holds everything that
// is obtained under this context, or under any context derived from it, in any goroutine.
//
// If ctx has an owner already, the new one is another owner: it does not hold what the first one
// holds, and is refused it.
//
// Every owner has a caller's id, which observers find at the keys that it holds and waits for: see
// [redislock.WithCaller]. If ctx has a caller's id already, for example of a request, all owners under ctx
// have that one. Otherwise the id is new.
func NewOwner(ctx context.Context) context.Context {
	o := &owner{
		entries: make(map[place]*entry),
		busy:    make(map[place]chan struct{}),
	}
	outer, id := ownerOf(ctx), inctx.Caller(ctx)
	if id == "" || outer != nil && id == outer.id {
		o.id = owners.NewCaller()
		ctx = redislock.WithCaller(ctx, o.id)
	}
	return context.WithValue(ctx, ownerKey{}, o)
}

type ownerKey struct{}

// ownerOf returns the owner of a context, nil if it has none.
func ownerOf(ctx context.Context) *owner {
	o, _ := ctx.Value(ownerKey{}).(*owner)
	return o
}

// An owner is a set of holds that belong together. Its mutex guards all that belongs to it,
// entries, carriers and holds included, and is never held while Redis is asked.
type owner struct {
	id      string // made by NewOwner; empty if ctx had one already
	mu      sync.Mutex
	entries map[place]*entry        // what is held
	busy    map[place]chan struct{} // closed when the key is not being obtained or released any more
	last    *Hold                   // the end of a list of the holds that are not released: for CheckReleased
	looks   uint64                  // how often lookLocked was called
}

// A place is a key of a Client.
type place struct {
	client *redislock.Client
	key    string
}

// An entry is a key that is held.
type entry struct {
	place   place
	carrier *carrier
	write   bool
	shown   bool   // some hold of it was returned
	holds   int    // 0: its carrier was lost, and others of its keys are held
	seen    uint64 // by this look
}

// A sight says which keys of a request an owner has.
type sight struct {
	entries     []*entry   // in the order of the request
	carriers    []*carrier // of the entries, each once
	upgrades    []*carrier // carriers of read keys that are to be written
	write, read []string   // what is missing
	busy        chan struct{}
}

// lookLocked looks up the keys of a request, for a hold. A key in both lists is a write key.
func (o *owner) lookLocked(r *request, h *Hold) sight {
	o.looks++
	s := sight{entries: h.oneEntry[:0], carriers: h.oneCarrier[:0]}
	if n := len(r.set.Write) + len(r.set.Read); n > 1 {
		s.entries = make([]*entry, 0, n)
	}
	for _, key := range r.set.Write {
		if o.seeLocked(&s, place{r.client, key}, true) {
			s.write = append(s.write, key)
		}
	}
	for _, key := range r.set.Read {
		if o.seeLocked(&s, place{r.client, key}, false) {
			s.read = append(s.read, key)
		}
	}
	return s
}

// seeLocked reports whether a key is missing.
func (o *owner) seeLocked(s *sight, at place, write bool) bool {
	e := o.entries[at]
	if e == nil {
		if busy := o.busy[at]; busy != nil {
			s.busy = busy
		}
		return true
	}
	if e.seen == o.looks {
		return false
	}
	e.seen = o.looks
	s.entries = append(s.entries, e)
	c := e.carrier
	if c.seen != o.looks {
		c.seen, c.upgrades = o.looks, false
		s.carriers = append(s.carriers, c)
	}
	if write && !e.write && !c.upgrades {
		c.upgrades = true
		s.upgrades = append(s.upgrades, c)
	}
	return false
}

// pinLocked adds a hold to each entry, so that its carrier stays.
func pinLocked(entries []*entry) {
	for _, e := range entries {
		if e.holds++; e.holds == 1 {
			e.carrier.live++
		}
	}
}

// A freeing is a set of keys of one carrier that nobody holds any more.
type freeing struct {
	carrier *carrier
	entries []*entry
	all     bool          // of the carrier
	unseen  bool          // no hold of any of the entries was returned
	done    chan struct{} // closed when they are free
}

// unpinLocked takes a hold away from each entry. It returns the entries that nobody holds any more,
// by their carriers: their keys are busy until [owner.free] has released them.
func (o *owner) unpinLocked(entries []*entry) (idle []freeing) {
	for _, e := range entries {
		if e.holds--; e.holds > 0 {
			continue
		}
		c := e.carrier
		if c.live--; c.live > 0 && c.isLost() {
			continue // the key is not to be obtained again before its other holds were told
		}
		i := slices.IndexFunc(idle, func(f freeing) bool { return f.carrier == c })
		if i < 0 {
			i = len(idle)
			idle = append(idle, freeing{carrier: c, done: make(chan struct{})})
		}
		idle[i].entries = append(idle[i].entries, e)
	}
	for i := range idle {
		f := &idle[i]
		c := f.carrier
		if f.all = c.live == 0; f.all {
			f.entries, c.done = c.entries, f.done
		} else {
			c.parting.Add(1)
		}
		f.unseen = true
		for _, e := range f.entries {
			delete(o.entries, e.place)
			f.unseen = f.unseen && !e.shown
		}
		if !f.all {
			c.entries = slices.DeleteFunc(c.entries, func(e *entry) bool { return o.entries[e.place] != e })
		}
		o.occupyLocked(f.places(), f.done)
	}
	return idle
}

// places returns the places of the keys.
func (f *freeing) places() []place {
	places := make([]place, len(f.entries))
	for i, e := range f.entries {
		places[i] = e.place
	}
	return places
}

// occupyLocked has others of this owner wait for keys that are obtained or released.
func (o *owner) occupyLocked(places []place, done chan struct{}) {
	for _, at := range places {
		o.busy[at] = done
	}
}

// vacateLocked ends what occupyLocked began.
func (o *owner) vacateLocked(places []place, done chan struct{}) {
	for _, at := range places {
		delete(o.busy, at)
	}
	close(done)
}

// free releases what nobody holds any more, all at the same time.
func (o *owner) free(ctx context.Context, idle []freeing) error {
	if len(idle) == 0 {
		return nil
	}
	defer func() { // also if a hook panics
		o.mu.Lock()
		defer o.mu.Unlock()
		for i := range idle {
			o.vacateLocked(idle[i].places(), idle[i].done)
		}
	}()
	errs := make([]error, len(idle))
	var others sync.WaitGroup
	for i := range idle[1:] {
		others.Go(func() { errs[i+1] = idle[i+1].release(ctx) })
	}
	errs[0] = idle[0].release(ctx)
	others.Wait()
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// release releases the root lock, or some keys of it.
func (f *freeing) release(ctx context.Context) (err error) {
	c := f.carrier
	if f.unseen {
		ctx = pace.GivingBack(ctx) // so that it is free at once, whatever Options.HoldAtLeast says
	}
	if f.all {
		c.parting.Wait() // else they would find it released
		c.keeper.stop()
		err = c.root.Release(ctx)
		c.keeper.wait()
	} else {
		keys := make([]string, len(f.entries))
		for i, e := range f.entries {
			keys[i] = e.place.key
		}
		defer c.parting.Done()
		err = c.root.ReleaseKeys(ctx, keys)
	}
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return fmt.Errorf("%w: %w", redislock.ErrLockLost, err)
	}
	return err
}
