package script_test

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file is how the tests call scripts: as a Client does.

// linesOf are the lines of some keys.
func linesOf(keys []string) (lines []string) {
	for _, key := range keys {
		lines = append(lines, slot.Beside("line", key))
	}
	return lines
}

// lockKeys are a set of keys to write, and of keys to read.
func lockKeys(write, read []string) proto.Set {
	all := slices.Concat(write, read)
	return proto.Set{Keys: all, Writes: len(write), Lines: linesOf(all)}
}

// fencedKeys are a set of keys to write that has fencing numbers.
func fencedKeys(write ...string) proto.Set {
	set := lockKeys(write, nil)
	for _, key := range write {
		set.Fences = append(set.Fences, slot.Beside("fence", key))
	}
	return set
}

// runOf makes a run of a request whose owner has this to say.
func runOf(q proto.Request, stamp owners.Stamp) *proto.Run {
	r := new(proto.Run)
	q.Fill(r)
	r.Prepare(&stamp)
	return r
}

// send runs a script.
func (s *fixture) send(t *testing.T, r *proto.Run) (any, error) {
	t.Helper()
	return s.rdb.Do(t.Context(), r.Append([]any{"eval", r.Script().Source()})...).Result()
}

// ask runs the script of a request whose owner has nothing to say.
func (s *fixture) ask(t *testing.T, q proto.Request) any {
	t.Helper()
	return check.Must[any](t)(s.send(t, runOf(q, owners.Stamp{})))
}

// release releases keys that were held under a value.
func (s *fixture) release(t *testing.T, keys []string, value string) any {
	t.Helper()
	return s.ask(t, &proto.Release{Set: lockKeys(keys, nil), Value: &value})
}

// givesUp releases keys for a waiter that gives up a place.
func (s *fixture) givesUp(t *testing.T, keys []string, value, id string, place proto.Place) any {
	t.Helper()
	return s.ask(t, &proto.Release{Set: lockKeys(keys, nil), Value: &value, Waiter: id, Place: place})
}

// waiterOf is one that stands in line for the keys of a fakeWaiter, as which it has this place.
func (f fakeWaiter) waiterOf(s *fixture, place proto.Place) *proto.Obtain {
	value := f.value()
	return &proto.Obtain{
		Set: lockKeys(f.write, f.read), Value: &value, TTL: f.ttl,
		Waiter: &proto.Waiter{ID: f.id, Place: place, Channel: f.channel(s)},
	}
}

// unknown is the place of a waiter that may stand in line.
var unknown = proto.Place{}.OrUnknown()

// A plain is one of a bundle: keys to obtain, or without a ttl to release.
type plain struct {
	keys  []string
	value string
	ttl   time.Duration
}

// bundleOf is how lua/batch.lua is called: what stands behind its source.
func bundleOf(all ...plain) []any {
	calls := make([]*wire.Call, len(all))
	for i, p := range all {
		var q proto.Request = &proto.Obtain{Set: lockKeys(p.keys, nil), Value: &p.value, TTL: p.ttl}
		if p.ttl == 0 {
			q = &proto.Release{Set: lockKeys(p.keys, nil), Value: &p.value}
		}
		calls[i] = &wire.Call{Wish: wire.Wish{Run: runOf(q, owners.Stamp{})}}
	}
	return proto.Bundle().Append(nil, calls)
}

// runBatch runs lua/batch.lua for several callers at once.
func (s *fixture) runBatch(t *testing.T, all ...plain) []any {
	t.Helper()
	command := append([]any{"eval", check.SourceOf("batch")}, bundleOf(all...)...)
	reply, _ := check.Must[any](t)(s.rdb.Do(t.Context(), command...).Result()).([]any)
	return reply
}
