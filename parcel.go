package redislock

import (
	"context"
	_ "embed"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

//go:embed batch.lua
var batchLua string

var batchScript = newScript("batch", batchLua)

// A parcel is one command on its way to Redis: a call, or a bundle of plain ones.
type parcel interface {
	redis.Cmder
	// contents returns the call; for a bundle one that stands for all.
	contents() *call
	// calls returns the calls.
	calls() []*call
	// command returns where the command of the latest try is.
	command() **redis.Cmd
	// prepare makes the command of the next try: by the name of the script, or with its source
	// where the server does not know it.
	prepare(sent clock.Moment, withSource bool)
	// unpack hands the answer to the calls.
	unpack()
}

// A single is a call that travels by itself. It is not the call, which may be recycled, because
// hooks of the Redis client are shown it and may keep it.
type single struct {
	*redis.Cmd
	call *call
	trip trip
	self [1]parcel // of a batch that is this one
}

func newSingle(c *call) *single { return &single{call: c, trip: trip{Context: c.ctx}} }

// NoRetry keeps go-redis from sending the command again.
func (s *single) NoRetry() bool { return true }

func (s *single) contents() *call      { return s.call }
func (s *single) calls() []*call       { return []*call{s.call} }
func (s *single) command() **redis.Cmd { return &s.Cmd }

func (s *single) prepare(sent clock.Moment, withSource bool) {
	c := s.call
	c.sent = sent
	n := len(c.keys) + len(c.extra) + len(c.lines)
	args := make([]any, 0, 3+n+4+len(c.more)+len(c.spared))
	name, what := c.script.Invocation(withSource)
	args = append(args, name, what, n)
	for _, key := range c.keys {
		args = append(args, key)
	}
	for i := range c.extra {
		args = append(args, &c.extra[i]) // by reference, which allocates nothing
	}
	for i := range c.lines {
		args = append(args, &c.lines[i])
	}
	if s.travel(); !c.bounded {
		c.detach()
	}
	s.Cmd = redis.NewCmd(c.ctx, c.arguments(args)...)
	s.SetFirstKeyPos(3)
}

func (s *single) unpack() {
	s.arrive()
	s.call.reply, s.call.err = s.Val(), s.Err()
	s.call = nil
}

// detach takes the end off the context, so that the end of a wait never makes an outcome unknown
// that would have been known in a moment: whoever waits leaves the call.
func (c *call) detach() {
	if c.ctx.Done() != nil {
		c.ctx = context.WithoutCancel(c.ctx)
	}
}

// arguments appends what stands behind the keys.
func (c *call) arguments(to []any) []any {
	if c.value != nil {
		to = append(to, c.value)
	}
	if c.ttl != 0 {
		to = append(to, c.ttl)
	}
	if c.effect != asks && (c.stamp != "" || len(c.more)+len(c.spared) > 0) {
		to = append(append(to, c.stampOfTry()), c.shortCut())
	}
	to = append(to, c.more...)
	if len(c.spared) > 0 {
		for range releaseArgs - len(c.more) {
			to = append(to, "")
		}
	}
	return append(to, c.spared...)
}

// stampOfTry is the stamp by reference, and a copy: the next try has another, and a hook may keep the command.
func (c *call) stampOfTry() any {
	if c.stamp == "" {
		return ""
	}
	stamp := c.stamp
	return &stamp
}

// shortCut tells a script whether it may take one: it may not if it has guards to set, or write keys to keep.
func (c *call) shortCut() string {
	if c.keeps {
		return "k"
	}
	return flag(c.sets)
}

// singles returns the calls as parcels of their own; if refused, only those that batch.lua has not
// done.
func singles(batch []*call, refused bool) []parcel {
	if len(batch) == 1 && !refused {
		s := newSingle(batch[0])
		s.self[0] = s
		return s.self[:]
	}
	var parcels []parcel
	for _, c := range batch {
		if !refused || c.err == errNotPlain { //nolint:errorlint // it is this value
			parcels = append(parcels, newSingle(c))
		}
	}
	return parcels
}

// releaseArgs is how many arguments release.lua has before the keys that it is not to free.
const releaseArgs = 4

const (
	bundleKeys = 512 // most lock keys of a bundle, which hold the server for about half a millisecond
	plainKeys  = 64  // most keys of a set that goes into one
)

// errNotPlain marks a call that batch.lua could not do: its own script has to.
var errNotPlain = errors.New("redislock: not plain")

// A bundle is many plain calls in one run of batch.lua: most of what a script costs the server,
// and much of what a command costs on both sides, is paid once for all of them.
type bundle struct {
	*redis.Cmd
	inside []*call
	keys   int
	whole  call // stands for all of them: the script, and no caller
}

// pack makes parcels of a batch; if tagged, bundles of the calls whose keys have the same hash tag. In a
// bundle the calls that take locks come first: a script that has written is not refused for want of
// memory any more.
func pack(batch []*call, tagged bool) []parcel {
	parcels := make([]parcel, 0, 4)
	var open *bundle
	var byTag map[string]*bundle
	if tagged {
		byTag = make(map[string]*bundle)
	}
	add := func(c *call) {
		if tagged {
			open = byTag[slot.Tag(c.keys[0])]
		}
		if open == nil || open.keys+len(c.keys) > bundleKeys {
			open = &bundle{inside: make([]*call, 0, len(batch))}
			open.whole.script, open.whole.ctx = batchScript, context.Background()
			parcels = append(parcels, open)
			if tagged {
				byTag[slot.Tag(c.keys[0])] = open
			}
		}
		open.inside = append(open.inside, c)
		open.keys += len(c.keys)
	}
	for _, c := range batch {
		switch {
		case !c.isPlain():
			parcels = append(parcels, newSingle(c))
		case c.ttl > 0:
			add(c)
		}
	}
	for _, c := range batch {
		if c.isPlain() && c.ttl == 0 {
			add(c)
		}
	}
	for i, p := range parcels {
		if b, ok := p.(*bundle); ok && len(b.inside) == 1 {
			parcels[i] = newSingle(b.inside[0])
		}
	}
	return parcels
}

// isPlain reports whether the next try of a call may travel in a bundle. Where there is a line, and so where
// there is a guard, batch.lua does nothing; but it sets none, and spares nothing.
func (c *call) isPlain() bool {
	return c.plain && len(c.keys) <= plainKeys && len(c.closes) == 0 && len(c.spared) == 0
}

// misplaced reports whether a bundle had keys of several Cluster slots.
func misplaced(p parcel) bool {
	_, is := p.(*bundle)
	return is && p.Err() != nil && redis.HasErrorPrefix(p.Err(), "CROSSSLOT")
}

// refusedWhole reports whether the server refused to run the script at all, or its first write.
func refusedWhole(err error) bool {
	for _, word := range []string{"CROSSSLOT", "NOPERM", "NOAUTH", "OOM", "MISCONF"} {
		if redis.HasErrorPrefix(err, word) {
			return true
		}
	}
	return false
}

// NoRetry keeps go-redis from sending the command again.
func (b *bundle) NoRetry() bool { return true }

func (b *bundle) contents() *call      { return &b.whole }
func (b *bundle) calls() []*call       { return b.inside }
func (b *bundle) command() **redis.Cmd { return &b.Cmd }

func (b *bundle) prepare(sent clock.Moment, withSource bool) {
	args := make([]any, 0, 3+2*b.keys+3*len(b.inside))
	name, what := batchScript.Invocation(withSource)
	args = append(args, name, what, 2*b.keys)
	for _, c := range b.inside {
		c.sent = sent
		for i := range c.keys {
			args = append(args, &c.keys[i])
		}
	}
	for _, c := range b.inside {
		for i := range c.extra {
			args = append(args, &c.extra[i])
		}
	}
	ttls := make([]int64, len(b.inside)) // so that they are boxed once for all
	for i, c := range b.inside {
		ttls[i] = c.ttl
		args = append(args, len(c.keys), c.value, &ttls[i]) // a ttl of 0 releases
	}
	b.Cmd = redis.NewCmd(b.whole.ctx, args...)
	b.SetFirstKeyPos(3)
}

func (b *bundle) unpack() {
	err := b.Err()
	done, _ := b.Val().([]any)
	if err == nil && len(done) != len(b.inside) {
		err = errNotPlain
	}
	for i, c := range b.inside {
		switch {
		case err == nil && done[i] == int64(1):
			c.reply, c.err = done[i], nil
		case err == nil:
			c.err = errNotPlain
		case classify(err) == final:
			// It stands for all what may concern one, and the script may have done some of them.
			if c.err = errNotPlain; !refusedWhole(err) {
				c.doubt()
			}
		default:
			c.err = err
		}
	}
}
