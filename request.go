package redislock

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A call is one run of a script, and what it carries for its owner.
type call struct {
	wire.Call
	own owners.Request // what its owner has to know of it
	stamp
}

// patience is how long a call whose caller's context has ended may still answer: most do, and
// then the outcome is known.
const patience = 100 * time.Millisecond

// newCall prepares a run of a script. Its arguments are the value and the ttl, as far as there
// are any, and then more.
func newCall(ctx context.Context, s *script, keys, beside []string, value *string, ttl int64, more ...any) *call {
	return new(call).runs(ctx, s, keys, beside, value, ttl, more)
}

// newCall takes a call that was recycled, if there is one.
func (c *Client) newCall(ctx context.Context, s *script, set keySet, value *string, ttl int64) *call {
	r, ok := c.recycled.Get().(*call)
	if !ok {
		r = new(call)
	}
	return r.runs(ctx, s, set.keys, set.lines, value, ttl, nil)
}

// runs makes a new call, or one that was recycled, a run of a script.
func (c *call) runs(ctx context.Context, s *script, keys, beside []string, value *string, ttl int64, more []any) *call {
	c.Request = wire.Request{Script: s.Script, Context: ctx, Keys: keys, Beside: beside, Value: value, TTL: ttl, Args: more}
	c.lined = s.lined
	return c
}

// recycle keeps a call for the next caller: one whose outcome was taken by the caller that waited
// for it, so that nobody else has it any more.
func (c *Client) recycle(r *call) {
	r.Reset()
	r.own, r.stamp = owners.Request{}, stamp{}
	c.recycled.Put(r)
}

// do sends a call and waits for its outcome. It returns false if ctx has ended and patience has run out
// before; then the caller has to leave the call.
func (c *Client) do(ctx context.Context, r *call, patience time.Duration) bool {
	return c.conn.Do(ctx, &r.Call, patience)
}

// code returns the integer of a reply, or the first of an array, then with the rest of it: 1 says
// that all went well, with a number if the call is numbered; 0 or less that it did not.
func (c *call) code(numbered bool) (int64, []any, error) {
	switch v := c.Reply.(type) {
	case int64:
		return v, nil, nil
	case []any:
		if len(v) > 1 {
			if n, ok := v[0].(int64); ok && (n <= 0 || n == 1 && numbered && len(v) == 2) {
				return n, v[1:], nil
			}
		}
	}
	return 0, nil, c.garbled()
}

// garbled is the error for a reply that the script cannot have sent: another script answers, or
// something between us and Redis.
func (c *call) garbled() error {
	return fmt.Errorf("redislock: unexpected reply to %s: %T", c.Script.Name(), c.Reply)
}

// A verdict is what a script says that needs all its keys to be the token's.
type verdict struct {
	code     int64
	missing  []string       // of notYours: which keys
	conflict *ConflictError // of refused: who is in the way
	number   int64          // of done: the fencing number of the hold; 0 if the reply has none
}

// verdict reads a reply that says done, overtaken or notYours.
func (c *call) verdict() (v verdict, err error) {
	code, rest, err := c.code(false)
	v.code = code
	switch {
	case err != nil:
	case code == done, code == overtaken:
	case code == notYours && len(rest) > 0:
		v.missing, err = c.lost(rest)
	default:
		err = c.garbled()
	}
	return v, err
}

// lost translates the indexes of a reply into keys.
func (c *call) lost(indexes []any) ([]string, error) {
	keys := make([]string, 0, len(indexes))
	for _, index := range indexes {
		i, ok := index.(int64)
		if !ok || i < 1 || i > int64(len(c.Keys)) {
			return nil, c.garbled()
		}
		keys = append(keys, c.Keys[i-1])
	}
	return keys, nil
}

// longestAck is how long a call waits for replicas at most.
const longestAck = time.Second

// replicasFor asks for replicas of a lease of ttl, of which something has to be left: so they are waited
// for a quarter of it at most. Less is rounded down, because calls that wait equally long go out together.
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
func (c *call) short() error {
	switch wanted := c.Replicas; {
	case c.Replicated.Err != nil:
		return fmt.Errorf("%w: %w", ErrNotReplicated, c.Replicated.Err)
	case c.Replicated.Got < int64(wanted.Wanted):
		return fmt.Errorf("%w: %d of %s acknowledged within %s", ErrNotReplicated,
			c.Replicated.Got, count.Of(wanted.Wanted, "replica"), wanted.Within)
	}
	return nil
}
