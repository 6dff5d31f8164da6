package redislock

import (
	"context"
	_ "embed"
	"strconv"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

//go:embed release.lua
var releaseLua string

var releaseScript = newScript("release", releaseLua)

// A freeing is what a release is to do: to free a set that is held with this value.
type freeing struct {
	set     keySet
	value   *string
	channel string       // of the caller: what is to be told there stands in the reply instead; empty: nothing does
	waiter  string       // id of one that gives up; empty: there is none
	place   place        // its place
	keep    clock.Moment // the keys are to be left until then; zero: they are to be free
}

// call builds the release. If somebody waits for it until it is over, client gives it a call that was recycled;
// client is nil if nobody does.
func (f freeing) call(ctx context.Context, client *Client) *call {
	var c *call
	if client != nil {
		c = client.newCall(ctx, releaseScript, f.set, f.value, 0)
	} else {
		c = newCall(ctx, releaseScript, f.set.keys, f.set.lines, f.value, 0)
	}
	fenced := f.set.fences != nil
	if fenced {
		c.Beside = f.set.beside()
	}
	switch {
	case f.keep != (clock.Moment{}):
		c.Args = []any{f.channel, flag(fenced), f.waiter, f.place.argument(), leftUntil(f.keep, c)}
	case f.waiter != "":
		c.Args = []any{f.channel, flag(fenced), f.waiter, f.place.argument()}
	case fenced:
		c.Args = []any{f.channel, flag(fenced)}
	case f.channel != "":
		c.Args = []any{f.channel}
	}
	c.own.Effect, c.own.Home, c.own.Frees = owners.Lessens, f.set.lines[0], true
	// What a clean-up does not find under its value was not locked by what it clears up.
	c.reads = client != nil || f.set.reads() > 0
	return c
}

// goesOn has scripts drop the waiters that are gone and that the latest one has left, because they are many, and hand the
// keys over to those behind: a release of what nobody holds, and so on until all are dropped. Nobody waits for it but a
// Close.
func (c *call) goesOn(conn *wire.Conn) {
	nobody := owners.NewID()
	next := newCall(context.Background(), releaseScript, c.Keys, c.Beside[:len(c.Keys)], &nobody, 0)
	next.Then = func(*wire.Call) {
		if next.TakeLast("more") {
			next.goesOn(conn)
		}
	}
	conn.Start(&next.Call)
}

// leftUntil is for how long the keys are to be left, as the script is told by each try of the call: for the rest of
// the time until then.
func leftUntil(end clock.Moment, c *call) *string {
	rest := func() string {
		ms := clock.Millis(clock.Now().Until(end))
		if ms == 0 {
			return ""
		}
		return strconv.FormatInt(ms, 10)
	}
	left := rest()
	c.Resent = func() { left = rest() }
	return &left
}

// releaseReply reads the reply to a release: which keys were not the token's, apart from those that it was to leave
// to others of the token.
func releaseReply(c *call) (missing []string, err error) {
	v, err := c.verdict()
	if err == nil && v.code == overtaken {
		err = c.garbled()
	}
	if err != nil || len(c.spared) == 0 {
		return v.missing, err
	}
	return owners.Without(v.missing, c.sparedKeys()), nil
}

// sparing returns what stands behind so many arguments of a release if it is not to free the keys of these indexes.
func sparing(args int, indexes []any) (rest []any) {
	if len(indexes) == 0 {
		return nil
	}
	for range 5 - args { // up to the time for which they are left
		rest = append(rest, "")
	}
	return append(rest, indexes...)
}
