package redislock

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// This file is about Redis clients of another type than go-redis' own: all that concerns keys goes
// through their Eval and EvalSha.

// WithWrapped says what the Redis client given to [New] wraps, if that has a type of its own, and
// that this may be used directly for what is about no key. Then [Options].Queue is possible, which
// subscribes to channels of it; and calls travel together again: several that take or release write
// locks become one EvalSha, on a Cluster or a Ring those of one hash tag.
//
// Every key and every script still goes through Eval and EvalSha of the wrapper, never past them. So
// the option is right also for a wrapper that puts a prefix before each key, counts, or delays; the
// keys of one EvalSha are then those of several locks. A prefix must have no hash tag, and on a Cluster
// every key behind one needs its own, see [New].
//
// Default: nothing is known of what a client of another type wraps, and only its Eval and EvalSha
// are used. The option has no effect if New is given a *redis.Client, *redis.ClusterClient or
// *redis.Ring itself.
func WithWrapped(rdb redis.UniversalClient) ClientOption {
	return func(c *Client) { c.wraps, c.unfit = rdb, errors.Join(c.unfit, unfitWrapped(rdb)) }
}

// isPlain reports whether a Redis client is exactly one of those of go-redis. One that embeds it may
// have an Eval of its own, which its Process and its Pipeline would go past.
func isPlain(rdb any) bool {
	switch rdb.(type) {
	case *redis.Client, *redis.ClusterClient, *redis.Ring:
		return true
	}
	return false
}

func unfitWrapped(rdb redis.UniversalClient) error {
	switch {
	case isNil(rdb):
		return errors.New("WithWrapped was given no Redis client")
	case !isPlain(rdb):
		return fmt.Errorf("WithWrapped was given a %T: it needs the *redis.Client, *redis.ClusterClient or *redis.Ring itself", rdb)
	}
	return nil
}

// unfit says why nothing can be locked with a Redis client.
func unfit(rdb redis.Scripter) error {
	switch {
	case rdb == nil:
		return errors.New("New was given no Redis client: nil")
	case isNil(rdb):
		return fmt.Errorf("New was given no Redis client: a %T that is nil", rdb)
	}
	if _, ok := rdb.(redis.Pipeliner); ok {
		return fmt.Errorf("%w: New was given a %T, whose answers come at its Exec: give it the client that this is of",
			errors.ErrUnsupported, rdb)
	}
	return nil
}

func isNil(rdb any) bool {
	v := reflect.ValueOf(rdb)
	return rdb == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// usable reports why the client cannot do anything at all.
func (c *Client) usable() error {
	switch {
	case c == nil:
		return errors.New("the Client is nil")
	case c.transport == nil:
		return errors.New("the Client was not made by New")
	}
	return c.unfit
}

// shares reports whether a call behind a wrapped client may share a script with others. All of its
// keys are where the first one is.
func (t *transport) shares(c *call) bool {
	return c.plain && (t.placement() == anywhere || slot.IsTagged(c.keys[0]))
}

// A pooled client says how many connections it has given up: go-redis sends nothing again as long as it keeps
// the one that it has.
type pooled interface{ PoolStats() *redis.PoolStats }

// pools returns what can say so of a client, or of what that wraps.
func pools(rdb redis.Scripter, wraps redis.UniversalClient) (known pooled) {
	if wraps != nil {
		return wraps
	}
	known, _ = rdb.(pooled)
	if known != nil {
		// A client that has its own Eval may embed another one that is nil, which nobody else asks.
		defer func() {
			if recover() != nil {
				known = nil
			}
		}()
		known.PoolStats()
	}
	return known
}

// resendPause is how long a client of which nothing is known waits at least before it sends a command again:
// go-redis 8 ms, if it is not told otherwise.
const resendPause = 5 * time.Millisecond

// A sending is one call of a client that may send it again by itself.
type sending struct {
	at   clock.Moment
	lost uint32 // connections that it had given up
}

func (d scripted) sending() sending {
	s := sending{at: clock.Now()}
	if d.pools != nil {
		s.lost = d.pools.PoolStats().StaleConns
	}
	return s
}

// mayBeTwice reports whether what was answered may have been sent more than once, so that an earlier time may
// yet reach the server.
func (d scripted) mayBeTwice(s sending) bool {
	if d.pools != nil {
		return d.pools.PoolStats().StaleConns != s.lost
	}
	return clock.Now().Since(s.at) >= resendPause
}

// scripted carries parcels one by one, by Eval and EvalSha of a client of which no more is known. Such
// a client may send a command again, and so may what it wraps, without saying so.
type scripted struct {
	rdb   redis.Scripter
	pools pooled // nil: it does not say
}

func (d scripted) deliver(parcels []parcel, withSource func(parcel) bool) {
	if len(parcels) == 1 {
		d.carry(parcels[0], withSource(parcels[0]))
		return
	}
	var wg sync.WaitGroup
	for _, p := range parcels {
		source := withSource(p)
		wg.Go(func() { d.carry(p, source) })
	}
	wg.Wait()
}

func (d scripted) carry(p parcel, withSource bool) {
	began := d.sending()
	p.prepare(began.at, withSource)
	c := p.contents()
	keys, args := operands((*p.command()).Args())
	var cmd *redis.Cmd
	if withSource {
		cmd = d.rdb.Eval(c.ctx, c.script.Source(), keys, args...)
	} else {
		cmd = d.rdb.EvalSha(c.ctx, c.script.SHA(), keys, args...)
	}
	if cmd == nil {
		p.SetErr(fmt.Errorf("redislock: %T returned no command", d.rdb))
	} else {
		*p.command() = cmd
	}
	if err := p.Err(); err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
		// That is what came of the last of several tries, perhaps: an earlier one may have been executed.
		for _, c := range p.calls() {
			c.doubt()
		}
	} else if d.mayBeTwice(began) {
		for _, c := range p.calls() {
			c.twice = true
		}
	}
}

// operands takes the keys and the arguments out of a command, as the strings and numbers that
// whoever wraps a client expects.
func operands(command []any) (keys []string, args []any) {
	args = make([]any, 0, len(command)-2)
	for _, arg := range command[2:] {
		switch arg := arg.(type) {
		case *string:
			args = append(args, *arg)
		case *int64:
			args = append(args, *arg)
		default:
			args = append(args, arg)
		}
	}
	n := args[0].(int)
	for _, key := range args[1 : n+1] {
		keys = append(keys, key.(string))
	}
	return keys, args[n+1:]
}
