package redislock

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/lease"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file is the short way of what most programs do: they obtain keys that are free, and release them. All that fewer
// programs ask for is the long way, in obtaining.go and release.go. The short way sends one request. If the answer is
// anything else than that all was done, the long way takes the request over.

// A sent is a request of the short way that the long way takes over. The zero sent is none.
type sent struct {
	call *call
	end  wire.End
	lock *Lock // that it was to obtain
}

// obtainShort makes the first attempt at keys to write. It returns the lock. If that is not there, it returns what was
// sent for it, or nothing if the set or an option has to go the long way.
func (c *Client) obtainShort(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, sent) {
	if c == nil || !c.short || c.closed.Load() || opt != nil && !c.isShortFor(opt) || ctx.Err() != nil || wire.IsStaying(ctx) {
		return nil, sent{}
	}
	if _, has := inctx.LookupCaller(ctx); has || len(keys) > 1 && c.placement != anywhere {
		return nil, sent{}
	}
	metadata, watchdog := c.metadata, false
	if opt != nil {
		if watchdog = opt.Watchdog; opt.Metadata != "" {
			metadata = opt.Metadata
		}
	}
	l := &Lock{asker: asker{client: c}}
	set, err := c.newKeySet(Set{Write: keys}, l.names[:0])
	if err != nil || ttl < minTTL || ttl > maxTTL || len(metadata) > mostMetadata {
		return nil, sent{} // the long way says what is wrong
	}
	ttl = (ttl + minTTL - 1).Truncate(minTTL)
	l.set, l.value, l.lease.TTL = set, owners.NewToken(), ttl
	if metadata != "" {
		l.value = proto.EncodeValue(l.value, "", metadata)
	}
	r := c.newCall()
	r.run.Plain(set.Keys, set.Lines, &l.value, ttl)
	r.begins(ctx).of, r.Tracker, r.Plain, r.Alike = &l.asker, r, true, true
	end := c.conn.Send(ctx, &r.Call, c.conn.Bound(ttl, len(set.Keys)), patience)
	if end != wire.Settled || r.Err != nil || r.Reply != proto.AllDone || r.IsUnanswered() {
		return nil, sent{r, end, l}
	}
	deadline := r.Sent.Add(clock.Window(ttl))
	if clock.Now().Reached(deadline) || ctx.Err() != nil {
		return nil, sent{r, end, l}
	}
	// As lease.Begin has it; a call less on the way that most go.
	l.lease = lease.Lease{TTL: ttl, Longest: ttl, Obtained: r.Sent, Deadline: deadline, Certain: ttl}
	c.recycle(r)
	if watchdog {
		l.mu.Lock()
		l.watchLocked(true)
		l.mu.Unlock()
	}
	return l, sent{}
}

// isShortFor reports whether an Obtain with these options may go the short way. One that is to stand in line, if it has
// to, enters the line with its first request where messages are heard already.
func (c *Client) isShortFor(opt *Options) bool {
	return (!opt.Queue || c.hub.IsQuiet()) && !opt.Intent && !opt.Fenced && opt.Wait == 0 && opt.HoldAtLeast == 0 && opt.PassOn == 0 &&
		(opt.RetryStrategy == nil || !c.local.Polled()) && len(opt.Name) <= mostName
}

// releaseShort frees a lock that has gone the short way so far. It reports whether the keys are free. If they are not
// known to be, it returns what was sent for that, or nothing if the lock has to go the long way.
func (l *Lock) releaseShort(ctx context.Context) (free bool, p part, s sent) {
	if l == nil || l.client == nil || !l.client.short || wire.IsStaying(ctx) {
		return false, p, s
	}
	l.mu.Lock()
	if l.client.inLine.Load() > 0 || l.line != nil || l.state != held || l.tokenKnown.Load() || l.owner.Load() != nil ||
		l.keep != (clock.Moment{}) || l.set.Writes < len(l.set.Keys) || l.set.IsFenced() {
		l.mu.Unlock()
		return false, p, s
	}
	p, end := l.stopLocked()
	l.mu.Unlock()
	end(context.Canceled)
	r := l.client.newCall()
	r.run.Plain(p.set.Keys, p.set.Lines, &l.value, 0)
	r.begins(ctx).of, r.Tracker, r.Plain = &l.asker, r, true
	s = sent{call: r, end: l.client.conn.Send(ctx, &r.Call, wire.Bound{}, patienceOf(ctx))}
	if s.end != wire.Settled || r.Err != nil || r.Reply != proto.AllDone || r.IsUnanswered() {
		return false, p, s
	}
	l.client.recycle(r)
	l.mu.Lock()
	l.over = errReleased
	l.mu.Unlock()
	return true, p, s
}
