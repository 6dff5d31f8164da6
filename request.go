package redislock

import (
	"context"
	"embed"
	"fmt"
	"math/bits"
	"time"

	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// luaFiles are the scripts and the parts that they include. internal/proto knows how each is called.
//
//go:embed *.lua lua/*.lua
var luaFiles embed.FS

func init() { proto.Load(luaFiles) }

// A call is one run of a script, and what it carries for its owner.
type call struct {
	wire.Call
	run  proto.Run
	own  owners.Note // what its owner has to know of it
	open bool        // it was answered, but has closed nothing: the user lacks a right
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
	r.own, r.run, r.open = owners.Note{}, proto.Run{}, false
	c.recycled.Put(r)
}

// begins prepares a call with a filled run for a caller.
func (r *call) begins(ctx context.Context) *call {
	r.Wish = wire.Wish{Script: r.run.Script(), Context: ctx, Keys: r.run.Keys(), Run: &r.run}
	return r
}

// ownedBy makes the call a request of an owner.
func (r *call) ownedBy(owner *owners.Owner, by *wire.Conn) {
	r.own.Owner, r.own.By, r.own.Keys, r.own.Caller = owner, by, r.Keys, r
	r.own.Effect, r.own.Frees, r.own.Home = r.run.Effect(), r.run.Frees(), r.run.Home()
	r.Tracker = r
}

// do sends a call and waits for its outcome. It returns false if ctx has ended and patience has run out before. Then
// the caller has to abandon the call.
func (c *Client) do(ctx context.Context, r *call, patience time.Duration) bool {
	return c.conn.Send(ctx, &r.Call, wire.Bound{}, patience) == wire.Settled
}

// Before prepares the next try, right before it is sent.
func (r *call) Before() bool {
	own := &r.own
	if !own.Owner.Send(own) {
		r.Err = wire.ErrNotSent
		return false
	}
	if r.open = false; own.Stamp.Yields && !r.run.Yield() {
		r.Reply, r.Err = proto.Withdrawn, nil
		own.Owner.Settle(own, false, false)
		return false
	}
	r.Alone = !r.run.Prepare(&own.Stamp)
	return true
}

// After handles the end of the latest try. An error counts as an answer of the script only if it shows that it was
// raised there, or that the script was refused: a proxy may have sent it.
func (r *call) After(mayCome bool) {
	if r.Err == nil {
		var more, open bool
		if r.Reply, more = proto.TakeMore(r.Reply); more {
			r.goesOn(r.own.By.(*wire.Conn))
		}
		r.Reply, open = proto.TakeOpen(r.Reply)
		r.open = r.open || open
	}
	answered := r.Err == nil && proto.IsAnswer(r.Reply)
	closed := answered && !r.open && !r.isOvertaken()
	r.own.Owner.Settle(&r.own, closed, mayCome || r.Err == nil && !answered)
}

// Left notes that the caller has gone.
func (r *call) Abandoned() { r.own.Owner.Abandon(&r.own) }

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

// replicasFor asks for replicas of a lease of ttl. It waits for them for at most a quarter of ttl, so that some of the
// lease is left. Less is rounded down, because calls that wait equally long go out together.
func replicasFor(wanted int, ttl time.Duration) wire.Replicas {
	if wanted == 0 {
		return wire.Replicas{}
	}
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
