package redislock

import (
	"context"
	"strings"
	"time"
)

// A matrixRow is a stray.
type matrixRow struct {
	name       string
	code       byte                                           // of the operation that it is a request of
	run        func(ctx context.Context, c *matrixCell) error // of one that is none of those above
	base       byte                                           // what obtains the hold before; 0: nothing does
	size       int                                            // of its set
	fenced     bool                                           //
	generated  bool                                           // the token
	grows      bool                                           // a late one may lengthen or raise: that is harmless
	harmless   string                                         // why no cell fails without guards; empty if some do
	nexts      string                                         // what may obtain afterwards; default: everything
	line       bool                                           // somebody stands in line, or may
	setup      func(c *matrixCell)                            // before the stray
	afterwards func(c *matrixCell)                            // before the followers
	scripts    string                                         // those that are the stray's; default: all
}

// matrixRows are all strays that can be in a bubble.
func matrixRows() []*matrixRow {
	var rows []*matrixRow
	add := func(r matrixRow) {
		if r.size == 0 {
			r.size = 3
		}
		rows = append(rows, &r)
	}
	for _, size := range []int{3, 1} {
		for _, generated := range []bool{false, true} {
			suffix := matrixSuffix(size, generated)
			add := func(r matrixRow) {
				r.name, r.size, r.generated = r.name+suffix, size, generated
				if generated && strings.ContainsRune("rcfo", rune(r.code)) {
					r.harmless = matrixFreesItsOwn
				}
				add(r)
			}
			add(matrixRow{name: "obtain", code: 'W', run: obtainStray('W', false)})
			add(matrixRow{name: "obtain read", code: 'R', run: obtainStray('R', false)})
			add(matrixRow{name: "renewal", code: 'n', base: 'W', grows: true, scripts: "refresh", harmless: "a renewal never shortens"})
			add(matrixRow{name: "refresh shorter", code: 's', base: 'W'})
			longer := matrixRow{name: "refresh longer", code: 'l', base: 'W'}
			if generated {
				longer.grows, longer.harmless = true, "it cannot shorten what its hold has asked for, and nobody else knows the token"
			}
			add(longer)
			add(matrixRow{name: "downgrade", code: 'd', base: 'W'})
			add(matrixRow{name: "upgrade", code: 'u', base: 'R'})
			add(matrixRow{name: "release", code: 'r', base: 'W'})
			add(matrixRow{name: "release of a reader", code: 'r', base: 'R'})
			add(matrixRow{name: "clean-up", code: 'c', run: cleanUpStray, scripts: "release"})
			if size == 1 {
				continue
			}
			add(matrixRow{name: "obtain mixed", code: 'M', run: obtainStray('M', false)})
			add(matrixRow{name: "release keys, first", code: 'f', base: 'W'})
			add(matrixRow{name: "release keys, last", code: 'o', base: 'M'})
		}
	}
	add(matrixRow{name: "obtain fenced", code: 'M', run: obtainStray('M', false), fenced: true})
	add(matrixRow{name: "refresh shorter, readers", code: 's', base: 'R'})
	add(matrixRow{name: "downgrade fenced", code: 'd', base: 'M', fenced: true})
	add(matrixRow{name: "upgrade fenced", code: 'u', base: 'M', fenced: true})
	add(matrixRow{name: "release fenced", code: 'r', base: 'M', fenced: true})
	add(matrixRow{name: "raise fence", code: 'b', base: 'M', fenced: true, grows: true, harmless: "numbers are only raised"})
	add(matrixRow{name: "clean-up fenced", code: 'c', run: cleanUpStray, fenced: true, scripts: "release"})
	add(matrixRow{name: "clean-up beside a hold", code: 'q', base: 'B', run: cleanUpBesideStray, scripts: "release"})
	add(matrixRow{name: "obtain while it is held", code: 'a', base: 'W'})
	add(matrixRow{name: "attached refresh", code: 'h', base: 'W'})
	add(matrixRow{name: "attached release", code: 'z', base: 'W'})
	add(matrixRow{name: "intent", code: 'i', run: obtainStray('W', true), setup: (*matrixCell).otherReads, afterwards: (*matrixCell).otherGoes})
	add(matrixRow{name: "intent beside a reader", code: 'j', run: obtainStray('W', true), setup: (*matrixCell).otherReads, nexts: "R"})
	return append(rows, matrixBatchRows()...)
}

// matrixFreesItsOwn is why a late release under a generated token does no harm.
const matrixFreesItsOwn = "it frees what its owner has released, and nobody else has the token"

// matrixSuffix says in the name of a row what set and token it has.
func matrixSuffix(size int, generated bool) (suffix string) {
	if size == 1 {
		suffix = ", one key"
	}
	if generated {
		suffix += ", generated token"
	}
	return suffix
}

// live reports whether there is a hold after the stray, in one way.
func (r *matrixRow) live(way byte) bool {
	if r.base == 0 {
		return way == 'R' && !strings.ContainsRune("cqijkgv", rune(r.code))
	}
	return r.code != 'r' && r.code != 'z'
}

// obtainStray is an Obtain of a first hold.
func obtainStray(code byte, intent bool) func(ctx context.Context, c *matrixCell) error {
	return func(ctx context.Context, c *matrixCell) error {
		opt := c.options()
		if intent {
			opt.Intent, opt.RetryStrategy = true, matrixIntent
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
		}
		return c.takes(c.first(ctx, code, opt))
	}
}

// first obtains what a first hold has.
func (c *matrixCell) first(ctx context.Context, code byte, opt *Options) (*Lock, error) {
	switch code {
	case 'R':
		return c.main.ObtainRead(ctx, c.keys, matrixTTL, opt)
	case 'M':
		return c.main.ObtainMixed(ctx, c.keys[:1], c.keys, matrixTTL, opt)
	case 'B':
		return c.main.Obtain(ctx, c.keys[1:], matrixTTL, opt)
	}
	return c.main.Obtain(ctx, c.keys, matrixTTL, opt)
}

// cleanUpStray is the clean-up of an Obtain that was executed and not answered.
func cleanUpStray(ctx context.Context, c *matrixCell) error {
	return c.unanswered(ctx, c.keys)
}

// cleanUpBesideStray is the clean-up of such a one that has a key in common with a hold.
func cleanUpBesideStray(ctx context.Context, c *matrixCell) error {
	return c.unanswered(ctx, c.keys[:2])
}

// unanswered obtains keys without an answer, and waits until the clean-up was sent; and then until
// another one has an answer, if it may have one.
func (c *matrixCell) unanswered(ctx context.Context, keys []string) error {
	c.set(func() { c.mutes = true })
	_, err := c.main.Obtain(ctx, keys, matrixTTL, &Options{Token: c.token, Fenced: c.row.fenced})
	c.set(func() { c.mutes = false })
	if err == nil {
		c.fault("an Obtain without an answer has succeeded")
	}
	before := c.wire.answeredOf("release")
	for range 400 {
		c.sleep(time.Millisecond)
		if kept, _ := c.wire.isKept(); kept && (c.way != 'R' || c.wire.answeredOf("release") > before) {
			return nil
		}
	}
	c.wire.void("there was no clean-up")
	return nil
}

// otherReads has another owner read the first key.
func (c *matrixCell) otherReads() {
	lock, err := c.second().ObtainRead(c.t.Context(), c.keys[:1], time.Hour, &Options{Fenced: c.row.fenced})
	if err != nil {
		c.fault("another cannot read: %v", err)
		return
	}
	c.reader = lock
}

// otherGoes ends that.
func (c *matrixCell) otherGoes() {
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
