package cost_test

import (
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What waiters of large sets cost, step by step.
func TestLargeSets(t *testing.T) {
	t.Parallel()
	const k = 1000
	m := newMeter(t)
	c := course{name: "waiters of a large set", set: sameSet}
	m.learns(t)
	for _, fenced := range []bool{false, true} {
		granting := limit{}
		if fenced {
			granting = ofFencedGrants
		}
		r := newRow(t, m, c.set(k), m.client)
		r.opt.Fenced = fenced
		lock := r.begins(t, 0)
		var first, last standing
		enteringFirst.within(t, named("is the first to enter the line", fenced, 1), k, m.counts(t, func() { first = r.enters(t) }))
		entering.within(t, named("enters it behind others", fenced, 1), k, m.least(t, func() { last = r.enters(t) }))
		askingAgain.within(t, named("asks again as the first", fenced, 1), k, m.least(t, func() { m.wakes(t, first) }))
		askingAgain.within(t, named("asks again as the last", fenced, 1), k, m.least(t, func() { m.wakes(t, last) }))
		handingOver.and(granting).within(t, named("is granted the set that is released", fenced, 1), k, m.counts(t, func() {
			check.NoError(t, lock.Release(t.Context()))
			lock = r.gets(t).Lock
		}))
		r.ends(t, lock)

		// One key is somebody else's, so that the script which releases it cannot grant the others.
		r = newRow(t, m, c.set(k), m.client)
		opt := &redislock.Options{Fenced: fenced}
		lock = check.Must[*redislock.Lock](t)(m.client.Obtain(t.Context(), r.wish(0).write[k/2:k/2+1], world.Long, opt))
		r.opt.Fenced = fenced
		r.enters(t)
		r.enters(t)
		askingAgain.and(granting).within(t, named("is granted the set when it asks again", fenced, 1), k, m.counts(t, func() {
			check.NoError(t, lock.Release(t.Context()))
			lock = r.gets(t).Lock
		}))
		r.ends(t, lock)
	}
}

// learns has the server learn the scripts of waiters.
func (m *meter) learns(t *testing.T) {
	t.Helper()
	r := newRow(t, m, sameSet(2), m.client)
	lock := r.begins(t, 1)
	check.NoError(t, lock.Release(t.Context()))
	r.ends(t, r.gets(t).Lock)
}

// least is what fn costs if it is not the first of its second.
func (m *meter) least(t *testing.T, fn func()) world.Commands {
	t.Helper()
	least := m.counts(t, fn)
	for range 3 {
		if next := m.counts(t, fn); next.Total() < least.Total() {
			least = next
		}
	}
	return least
}

// wakes has a waiter ask again, and waits until it has its answer.
func (m *meter) wakes(t *testing.T, s standing) {
	t.Helper()
	m.forgetAsked()
	check.NoError(t, m.admin.Publish(t.Context(), s.channel, "w|"+s.id).Err())
	m.asksAgain(t)
}
