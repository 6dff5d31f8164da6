package redislock

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/local"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// luaFiles are the scripts and the parts that they include. internal/proto knows how each is called.
//
//go:embed *.lua lua/*.lua lua/include/*.lua
var luaFiles embed.FS

func init() { proto.Load(luaFiles) }

// A call is one run of a script, and a request of the owner of its lock, if it has one.
type call struct {
	wire.Call
	run  proto.Run
	of   *asker
	note atomic.Pointer[owners.Note] // what the owner has to know of it; nil as long as that is nothing
	// flies says that a try without a note is under way.
	flies atomic.Bool
	open  bool     // it was answered, but has closed nothing: the user lacks a right
	gives carrying // to whom a Release may give its keys
}

// An asker is for whom requests are sent: a lock, or an operation with a token of its own.
type asker struct {
	client *Client
	value  string // what its keys hold: the token, and what stands behind that
	// owner has numbers for the requests. It is nil as long as all of them are answered and nobody else knows the token.
	owner      atomic.Pointer[owners.Owner]
	tokenKnown atomic.Bool // callers know the token, and may use it for other locks
}

// token is the token, not shown to any caller.
func (a *asker) token() string { return proto.TokenOf(a.value) }

// ownerNow returns the owner of the requests that are sent from now on; nil if it need not know of them. The caller must
// end its use with Done.
func (a *asker) ownerNow() *owners.Owner {
	if a.tokenKnown.Load() {
		return owners.Of(a.token())
	}
	return a.owner.Load().Use()
}

// sureOwner returns the owner, which has to know of something from now on. The caller must end its use with Done.
func (a *asker) sureOwner() *owners.Owner {
	if owner := a.ownerNow(); owner != nil {
		return owner
	}
	a.owner.CompareAndSwap(nil, new(owners.Owner))
	return a.owner.Load().Use()
}

// patience is how long a call may still answer after the context of its caller has ended. Most calls do, and then the
// outcome is known.
const patience = 100 * time.Millisecond

// mostOvertaken is how often in a row an overtaken operation asks again: other locks of its token come to an end.
const mostOvertaken = 100

// newCall takes a call that was recycled, if there is one.
func (c *Client) newCall() *call {
	if r, ok := c.recycled.Get().(*call); ok {
		return r
	}
	return new(call)
}

// recycle keeps a call for the next caller. The caller that waited for it must have taken its outcome, so that nobody
// else has the call any more.
func (c *Client) recycle(r *call) {
	r.Reset()
	r.of, r.run, r.open, r.gives = nil, proto.Run{}, false, carrying{}
	if r.flies.Store(false); r.note.Load() != nil {
		r.note.Store(nil)
	}
	c.recycled.Put(r)
}

// begins prepares a call with a filled run for a caller.
func (r *call) begins(ctx context.Context) *call {
	r.Wish = wire.Wish{Context: ctx, Run: &r.run}
	return r
}

// isOf makes the call a request for somebody, by an owner of the same token. If the owner is nil, nobody else
// knows the token, and the owner is told of the request only if something may be left of it.
func (r *call) isOf(a *asker, owner *owners.Owner) {
	r.of, r.Tracker = a, r
	if owner == nil {
		r.run.Unstamped()
	} else {
		r.note.Store(r.newNote(owner))
	}
}

// since says when the operation of the request has begun, by the count of its owner.
func (r *call) since(count int64) {
	if note := r.note.Load(); note != nil {
		note.Since = count
	}
}

// readsSince says that the request takes read keys for an operation with this claim.
func (r *call) readsSince(claim *owners.Claim) {
	note := r.note.Load()
	note.Reads, note.Since = true, claim.Since()
}

// yields reports whether others have begun to count on some of its keys since its operation began.
func (r *call) yields() bool {
	note := r.note.Load()
	return note != nil && note.Owner.Yields(note)
}

func (r *call) newNote(owner *owners.Owner) *owners.Note {
	return &owners.Note{
		Owner: owner, By: r.of.client.conn, Of: r.of, Keys: r.run.Keys(), Caller: r,
		Effect: r.run.Effect(), Frees: r.run.Frees(), Home: r.run.Home(),
	}
}

// noteNow returns the note of a request of which something may be left: its owner is told of it now. done is to be
// called when the owner knows that.
func (r *call) noteNow() (note *owners.Note, done func()) {
	if note = r.note.Load(); note != nil {
		return note, func() {}
	}
	owner := r.of.sureOwner()
	note = r.newNote(owner)
	note.Since = -1                  // its operation began when the owner did not count yet
	r.note.CompareAndSwap(nil, note) // the lane and the caller may come at the same time
	return r.note.Load(), func() { owner.Done(r.of.token()) }
}

// do sends a call and waits for its outcome. It returns false if ctx has ended and patience has run out before. Then
// the caller has to abandon the call.
func (c *Client) do(ctx context.Context, r *call, patience time.Duration) bool {
	return c.conn.Send(ctx, &r.Call, wire.Bound{}, patience) == wire.Settled
}

// ask sends a call about a set that nothing may be left of, and returns why there is no answer.
func (c *Client) ask(ctx context.Context, r *call, what string, set keySet, patience time.Duration) error {
	if !c.do(ctx, r, patience) && r.Abandon(nil) {
		return interrupted(ctx, what, set)
	}
	if r.Err != nil {
		return about(what, set, r.fault(r.Replicated.Never != nil))
	}
	return nil
}

// Before prepares the next try, right before it is sent. A request of an owner that has nothing to tell needs no number.
func (r *call) Before() bool {
	note := r.note.Load()
	if note == nil && r.of.owner.Load() == nil {
		if r.flies.Store(true); r.IsAbandoned() { // in this order: see Abandoned
			r.Err = wire.ErrNotSent
			return false
		}
		if r.gives.may {
			r.choose(true)
		}
		return true
	}
	if note == nil {
		var done func()
		note, done = r.noteNow()
		defer done()
	}
	if !note.Owner.Send(note) {
		r.Err = wire.ErrNotSent
		return false
	}
	if r.open = false; note.Stamp.Yields && !r.run.Yield() {
		r.Reply, r.Err = proto.Withdrawn, nil
		note.Owner.Settle(note, false, false)
		return false
	}
	r.Alone = !r.run.Prepare(&note.Stamp)
	if r.gives.may {
		r.choose(!r.Alone)
	}
	return true
}

// After handles the end of the latest try. An error counts as an answer of the script only if it shows that it was
// raised there, or that the script was refused: a proxy may have sent it.
func (r *call) After(mayCome bool) {
	if r.gives.to != nil {
		r.given(mayCome)
	}
	if r.Err == nil && !mayCome && r.Reply == proto.AllDone && r.note.Load() == nil {
		r.flies.Store(false)
		return // as most do
	}
	if r.Err == nil {
		var more, open bool
		if r.Reply, more = proto.TakeMore(r.Reply); more {
			r.goesOn(r.of.client.conn)
		}
		r.Reply, open = proto.TakeOpen(r.Reply)
		r.open = r.open || open
	}
	answered := r.Err == nil && proto.IsAnswer(r.Reply)
	mayCome = mayCome || r.Err == nil && !answered
	if r.note.Load() == nil && !mayCome {
		r.flies.Store(false)
		return
	}
	note, done := r.noteNow()
	defer done()
	note.Owner.Settle(note, answered && !r.open && !r.isOvertaken(), mayCome)
}

// Abandoned notes that the caller has gone. A request that is about to be sent finds that out, or else it is known here
// that it is under way.
func (r *call) Abandoned() {
	flies := r.flies.Load()
	if r.note.Load() == nil && (!flies || r.run.Effect() == owners.Lengthens) {
		return
	}
	note, done := r.noteNow()
	defer done()
	note.Owner.Abandon(note, flies)
}

// goesOn has scripts drop the dead waiters that the latest script has left because they were too many. It goes on until
// all are dropped. Only a Close waits for it.
func (r *call) goesOn(conn *wire.Conn) {
	next := new(call)
	r.run.GoOn(&next.run)
	next.begins(context.Background()).Then = func(*wire.Call) {
		if _, more := proto.TakeMore(next.Reply); more && next.Err == nil {
			next.goesOn(conn)
		}
	}
	conn.Start(&next.Call)
}

// isOvertaken reports whether the call has done nothing, because a later request was executed before it.
func (r *call) isOvertaken() bool { return r.Err == nil && proto.IsOvertaken(r.Reply) }

// garbled is the error for a reply that the script cannot have sent.
func (r *call) garbled() error { return r.run.Garbled(r.Reply) }

// longestAck is how long a call waits for replicas at most.
const longestAck = time.Second

// replicasFor asks for replicas of a lease of ttl, if any are wanted. It waits for them for at most a quarter of ttl, so that
// some of the lease is left. Less is rounded down, because calls that wait equally long go out together.
func replicasFor(wanted int, ttl time.Duration) wire.Replicas {
	within := longestAck
	if ttl/4 < longestAck {
		ms := uint64(max(1, ttl/4/time.Millisecond))
		within = time.Duration(1<<(bits.Len64(ms)-1)) * time.Millisecond
	}
	return wire.Replicas{Wanted: wanted, Within: within}
}

// short says why a call that was executed does not count; nil if it does.
func (r *call) short() error {
	switch wanted := r.Replicas; {
	case r.Replicated.Err != nil:
		return fmt.Errorf("%w: %w", ErrNotReplicated, r.Replicated.Err)
	case r.Replicated.Got < int64(wanted.Wanted):
		return fmt.Errorf("%w: %d of %s acknowledged within %s", ErrNotReplicated,
			r.Replicated.Got, count.Of(wanted.Wanted, "replica"), wanted.Within)
	}
	return nil
}

// fault turns the error of a call into the one that callers see. It has a sentinel if there is one for the fact, and no
// details that only the authors of a script can read. A server may have executed the call and refuse to say which replicas
// have it, because the user lacks the right to ask.
func (r *call) fault(executed bool) error {
	kind, err := wire.Classify(r.Err), r.Err
	if answer, ok := errors.AsType[redis.Error](err); ok {
		err = wire.NewServerError(answer)
		if foreign := foreignFence(&r.run, answer); foreign != nil {
			err = foreign
		}
		if strings.HasPrefix(answer.Error(), "CROSSSLOT") {
			return fmt.Errorf("%w (%w)", ErrCrossSlot, err)
		}
		err = unsupported(answer, err)
	}
	if r.Cut != nil {
		err = fmt.Errorf("%w: %w", r.Cut, err)
	}
	if kind == wire.Unknown || kind == wire.Passing && r.IsUnanswered() || executed {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return err
}

// A carrying is the part of a Release that may give its keys to the next Obtain of the Client.
type carrying struct {
	from  any             // the lock
	line  *local.Line     // of the Obtains; nil: there is none, or the first try was sent
	after <-chan struct{} // closed when the hooks know that the lock has ended; nil without hooks
	to    *local.Waiter   // to whom a try that is under way gives them
	may   bool            // some try may
}

// choose has a Release give its keys to the next Obtain, if it may. Only its first try does: an answer to a later one would
// not say which of them has given the keys.
func (r *call) choose(may bool) {
	line := r.gives.line
	if r.gives.line = nil; line == nil || !may {
		r.run.Give(nil)
		return
	}
	if w := line.Choose(r.gives.from, r.gives.after); w != nil {
		r.run.Give(&w.Next)
		r.gives.to, r.Alone = w, true
	}
}

// given tells the next Obtain what a try has done that was to give it the keys. mayCome is that of After.
func (r *call) given(mayCome bool) {
	to := r.gives.to
	r.gives.to = nil
	if numbers, is := r.run.IsGiven(r.Reply); is && r.Err == nil {
		to.Give(local.Grant{Sent: r.Sent, Numbers: numbers})
		runtime.Gosched() // the next one goes on first, because others wait for it
		return
	}
	known := r.Err == nil && proto.IsAnswer(r.Reply) || r.Err != nil && wire.Classify(r.Err) == wire.Passing
	to.Refuse(mayCome || !known) // a script that has failed may have given some of them before
}
