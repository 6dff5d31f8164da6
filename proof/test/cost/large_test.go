package cost_test

import (
	"slices"
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
	m.learns(t)
	for _, fenced := range []bool{false, true} {
		granting := limit{}
		if fenced {
			granting = ofFencedGrants
		}
		cheap(t, func(b *bill) {
			r := newRow(t, m, sameSet(k), m.client)
			r.opt.Fenced = fenced
			lock := r.begins(t, 0)
			var first, last standing
			enteringFirst.within(b, named("is the first to enter the line", fenced, 1), k, m.counts(t, func() { first = r.enters(t) }))
			entering.within(b, named("enters it behind others", fenced, 1), k, m.least(t, func() { last = r.enters(t) }))
			askingAgain.within(b, named("asks again as the first", fenced, 1), k, m.least(t, func() { m.refuses(t, first) }))
			askingAgain.within(b, named("asks again as the last", fenced, 1), k, m.least(t, func() { m.refuses(t, last) }))
			handingOver.and(granting).within(b, named("is granted the set that is released", fenced, 1), k, m.least(t, func() {
				check.NoError(t, lock.Release(t.Context()))
				lock = r.gets(t).Lock
			}))
			r.ends(t, lock)
			askingAgain.and(granting).within(b, named("is granted the set when it asks again", fenced, 1), k, m.asksAndGets(t, k, fenced))
		})
	}
}

// asksAndGets returns what a set costs its waiter of which one key was somebody else's, so that the script which releases
// that one cannot grant the others.
func (m *meter) asksAndGets(t *testing.T, k int, fenced bool) world.Commands {
	t.Helper()
	var all []world.Commands
	for range 3 {
		r := newRow(t, m, sameSet(k), m.client)
		r.opt.Fenced = fenced
		keys, opt := r.wish(0).write, &redislock.Options{Fenced: fenced}
		lock := check.Must[*redislock.Lock](t)(m.client.Obtain(t.Context(), keys[len(keys)/2:][:1], world.Long, opt))
		r.enters(t)
		r.enters(t)
		all = append(all, m.counts(t, func() {
			check.NoError(t, lock.Release(t.Context()))
			lock = r.gets(t).Lock
		}))
		r.ends(t, lock)
	}
	return least(all)
}

// learns has the server learn the scripts of waiters.
func (m *meter) learns(t *testing.T) {
	t.Helper()
	r := newRow(t, m, sameSet(2), m.client)
	lock := r.begins(t, 1)
	check.NoError(t, lock.Release(t.Context()))
	r.ends(t, r.gets(t).Lock)
}

// least is what fn costs if it is not the first of its second, and nobody asks again meanwhile.
func (m *meter) least(t *testing.T, fn func()) world.Commands {
	t.Helper()
	var all []world.Commands
	for range 4 {
		all = append(all, m.counts(t, fn))
	}
	return least(all)
}

func least(all []world.Commands) world.Commands {
	return slices.MinFunc(all, func(a, b world.Commands) int { return a.Total() - b.Total() })
}

// wakes has a waiter ask again.
func (m *meter) wakes(t *testing.T, s standing) {
	t.Helper()
	check.NoError(t, m.admin.Publish(t.Context(), s.channel, "w|"+s.id).Err())
}

// refuses has a waiter ask again, and waits until it has its answer.
func (m *meter) refuses(t *testing.T, s standing) {
	t.Helper()
	m.forgetAsked()
	m.wakes(t, s)
	m.asksAgain(t)
}
