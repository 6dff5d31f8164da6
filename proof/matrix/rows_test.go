package matrix_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A row is a request that comes late.
type row struct {
	name       string
	code       byte                                     // of the operation that it is a request of
	run        func(ctx context.Context, c *cell) error // of one that is none of those above
	base       byte                                     // what obtains the hold before; 0: nothing does
	size       int                                      // of its set
	fenced     bool                                     //
	generated  bool                                     // the token
	grows      bool                                     // a late one may lengthen or raise: that is harmless
	harmless   string                                   // why no cell fails without guards; empty if some do
	ways       string                                   // in which it may be late; default: all
	nexts      string                                   // what may obtain afterwards; default: everything
	line       bool                                     // somebody stands in line, or may
	setup      func(c *cell)                            // before the late request
	afterwards func(c *cell)                            // before the followers
	scripts    string                                   // of which one run is late; default: all
	late       func(c *cell, r *request) bool           // which requests are those of the operation; default: all
	local      bool                                     // Obtains wait behind one another in their Client
	passes     bool                                     // with Options.PassOn
	known      bool                                     // the token is generated, and somebody has asked for it
	loses      bool                                     // nothing of the next one arrives before the late request, which is closed by then
	served     bool                                     // there is a hold after the Release: that of the next one
}

// bubbleRows are all late requests that can be in a bubble.
func bubbleRows() []*row {
	var rows []*row
	add := func(r row) {
		if r.size == 0 {
			r.size = 3
		}
		rows = append(rows, &r)
	}
	for _, size := range []int{3, 1} {
		for _, generated := range []bool{false, true} {
			suffix := suffixOf(size, generated)
			add := func(r row) {
				r.name, r.size, r.generated = r.name+suffix, size, generated
				if generated && strings.ContainsRune("rcfoL", rune(r.code)) {
					r.harmless = freesItsOwn
				}
				add(r)
			}
			add(row{name: "obtain", code: 'W', run: lateObtain('W', false)})
			add(row{name: "obtain read", code: 'R', run: lateObtain('R', false)})
			add(row{name: "renewal", code: 'n', base: 'W', grows: true, scripts: "refresh", harmless: "a renewal never shortens"})
			add(row{name: "refresh shorter", code: 's', base: 'W'})
			longer := row{name: "refresh longer", code: 'l', base: 'W'}
			if generated {
				longer.grows, longer.harmless = true, "it cannot shorten what its hold has asked for, and nobody else knows the token"
			}
			add(longer)
			add(row{name: "downgrade", code: 'd', base: 'W'})
			add(row{name: "upgrade", code: 'u', base: 'R'})
			add(row{name: "release", code: 'r', base: 'W'})
			add(row{name: "release of a reader", code: 'r', base: 'R'})
			add(row{name: "leave", code: 'L', base: 'W'})
			add(row{name: "leave of a reader", code: 'L', base: 'R'})
			add(row{name: "break", code: 'K', base: 'W', run: lateBreak, ways: "RC"})
			add(row{name: "clean-up", code: 'c', run: lateCleanUp, scripts: "release"})
			if size == 1 {
				continue
			}
			add(row{name: "obtain mixed", code: 'M', run: lateObtain('M', false)})
			add(row{name: "release keys, first", code: 'f', base: 'W'})
			add(row{name: "release keys, last", code: 'o', base: 'M'})
		}
	}
	add(row{name: "obtain fenced", code: 'M', run: lateObtain('M', false), fenced: true})
	add(row{name: "refresh shorter, readers", code: 's', base: 'R'})
	add(row{name: "downgrade fenced", code: 'd', base: 'M', fenced: true})
	add(row{name: "upgrade fenced", code: 'u', base: 'M', fenced: true})
	add(row{name: "release fenced", code: 'r', base: 'M', fenced: true})
	add(row{name: "leave fenced", code: 'L', base: 'M', fenced: true})
	add(row{name: "break fenced", code: 'K', base: 'M', run: lateBreak, ways: "RC", fenced: true})
	add(row{name: "raise fence", code: 'b', base: 'M', fenced: true, grows: true, harmless: "numbers are only raised"})
	add(row{name: "clean-up fenced", code: 'c', run: lateCleanUp, fenced: true, scripts: "release"})
	add(row{name: "clean-up beside a hold", code: 'q', base: 'B', run: lateCleanUpBeside, scripts: "release"})
	add(row{name: "obtain while it is held", code: 'a', base: 'W'})
	add(row{name: "attached refresh", code: 'h', base: 'W'})
	add(row{name: "attached release", code: 'z', base: 'W'})
	add(row{name: "intent", code: 'i', run: lateObtain('W', true), setup: (*cell).otherReads, afterwards: (*cell).otherGoes})
	add(row{name: "intent beside a reader", code: 'j', run: lateObtain('W', true), setup: (*cell).otherReads, nexts: "R"})
	return slices.Concat(rows, batchRows(), localRows())
}

// freesItsOwn is why a late release under a generated token does no harm.
const freesItsOwn = "it frees what its owner has released, and nobody else has the token"

// suffixOf says in the name of a row what set and token it has.
func suffixOf(size int, generated bool) (suffix string) {
	if size == 1 {
		suffix = ", one key"
	}
	if generated {
		suffix += ", generated token"
	}
	return suffix
}

// live reports whether there is a hold after the late request, in one way.
func (r *row) live(way byte) bool {
	if r.base == 0 {
		return way == 'R' && !strings.ContainsRune("cqijkgv", rune(r.code))
	}
	return r.served || !ends(r.code) || r.code == 'K' && way != 'R' // which changes nothing then
}

// lateObtain is an Obtain of a first hold.
func lateObtain(code byte, intent bool) func(ctx context.Context, c *cell) error {
	return func(ctx context.Context, c *cell) error {
		opt := c.options()
		if intent {
			opt.Intent, opt.RetryStrategy = true, waitsLong
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
		}
		return c.first(ctx, code, opt)
	}
}

// first obtains the first hold.
func (c *cell) first(ctx context.Context, code byte, opt *redislock.Options) error {
	switch code {
	case 'R':
		return c.takesToRead(c.by().ObtainRead(ctx, c.keys, firstTTL, opt))
	case 'M':
		return c.takesMixed(c.by().ObtainSet(ctx, redislock.Set{Write: c.keys[:1], Read: c.keys}, firstTTL, opt))
	case 'B':
		return c.takes(c.by().Obtain(ctx, c.keys[1:], firstTTL, opt))
	case 'P':
		return c.passedOn(ctx)
	case 'Q':
		err := c.takes(c.main.Obtain(ctx, c.keys, firstTTL, c.localOptions()))
		if err == nil && c.row.known {
			c.token = c.hold.Token()
		}
		return err
	}
	return c.takes(c.by().Obtain(ctx, c.keys, firstTTL, opt))
}

// lateBreak is a Break that has an owner of its own. As long as nobody has closed one to which no answer came, it may
// be executed: so its clean-up has to be answered.
func lateBreak(ctx context.Context, c *cell) error { return c.breaks(ctx, c.main) }

// lateCleanUp is the clean-up of an Obtain that was executed and not answered.
func lateCleanUp(ctx context.Context, c *cell) error {
	return c.unanswered(ctx, c.keys)
}

// lateCleanUpBeside is the clean-up of such a one that has a key in common with a hold.
func lateCleanUpBeside(ctx context.Context, c *cell) error {
	return c.unanswered(ctx, c.keys[:2])
}

// unanswered obtains keys without an answer, and waits until the clean-up was sent; and then until
// another one has an answer, if it may have one.
func (c *cell) unanswered(ctx context.Context, keys []string) error {
	c.set(func() { c.mutes = true })
	_, err := c.by().Obtain(ctx, keys, firstTTL, &redislock.Options{Fenced: c.row.fenced})
	c.set(func() { c.mutes = false })
	if err == nil {
		c.fault("an Obtain without an answer has succeeded")
	}
	before := c.network.answeredOf("release")
	for range 5000 { // a busy machine takes its time
		c.sleep(time.Millisecond)
		if kept, _ := c.network.isKept(); kept && (c.way != 'R' || c.network.answeredOf("release") > before) {
			return nil
		}
	}
	c.network.void("there was no clean-up")
	return nil
}

// otherReads has another owner read the first key.
func (c *cell) otherReads() {
	lock, err := c.second().ObtainRead(c.t.Context(), c.keys[:1], time.Hour, &redislock.Options{Fenced: c.row.fenced})
	if err != nil {
		c.fault("another cannot read: %v", err)
		return
	}
	c.reader = lock
}

// otherGoes has that reader release the key.
func (c *cell) otherGoes() {
	if c.reader != nil {
		var before bool
		c.set(func() { before, c.frees = c.frees, true })
		defer c.set(func() { c.frees = before })
		if err := c.reader.Release(c.t.Context()); err != nil {
			c.fault("another has lost what it reads: %v", err)
		}
		c.reader = nil
	}
}
