package cost_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A refusal is an attempt that is refused, and what it may cost.
type refusal struct {
	name    string
	readers int  // who hold the key; none: a writer does
	kept    bool // nobody holds it, but a writer waits for it with an intent
	reads   bool // the one who asks wants to read
	intent  bool // it declares an intent, and makes two attempts
	limit   limit
}

// An attempt that is refused costs a few commands, however many hold the key, and tells who does.
func TestRefused(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	for _, r := range []refusal{
		{name: "a writer by a writer", limit: refusedByWriter},
		{name: "a writer by a reader", readers: 1, limit: refusedByReader},
		{name: "a writer by 100 readers", readers: 100, limit: refusedByReader},
		{name: "a reader by a writer", reads: true, limit: readRefused},
		{name: "a reader by an intent", reads: true, kept: true, limit: keptOutByIntent},
		{name: "a writer with an intent by a writer", intent: true, limit: refusedTwice},
		{name: "a writer with an intent by a reader", readers: 1, intent: true, limit: refusedTwice},
		{name: "a writer with an intent by 100 readers", readers: 100, intent: true, limit: refusedTwice},
	} {
		for _, place := range []struct {
			name string
			keys int
			held int // index
		}{{"", 1, 0}, {", first of a set", 8, 0}, {", last of a set", 8, 7}} {
			t.Run(r.name+place.name, func(t *testing.T) {
				keys := newKeys("set", place.keys)
				r.hold(t, m, keys[place.held])
				r.attempt(t, m, keys, keys[place.held]) // the server learns the script
				most := r.limit
				if r.readers > 0 {
					looks := place.held // one at each key before it, in each attempt
					if r.intent {
						looks *= 2
					}
					most = most.and(limit{0, looks})
				}
				cheap(t, func(b *bill) {
					commands := m.counts(t, func() { r.attempt(t, m, keys, keys[place.held]) })
					most.within(b, r.name+place.name, len(keys), commands)
				})
			})
		}
	}
}

// hold has one hold the key, or several, of whom the last holds it longest.
func (r refusal) hold(t *testing.T, m *meter, key string) {
	t.Helper()
	switch {
	case r.kept:
		check.NoError(t, m.admin.Set(t.Context(), world.IntentOf(key), "a-token|the holder", world.Long).Err())
		return
	case r.readers == 0:
		opt := &redislock.Options{Metadata: "the holder"}
		check.Must[*redislock.Lock](t)(m.client.Obtain(t.Context(), []string{key}, world.Long, opt))
		return
	}
	for i := range r.readers {
		opt, ttl := &redislock.Options{Metadata: fmt.Sprint("reader ", i)}, world.Long-time.Minute
		if i == r.readers/2 {
			opt.Metadata, ttl = "the holder", world.Long
		}
		check.Must[*redislock.Lock](t)(m.client.ObtainRead(t.Context(), []string{key}, ttl, opt))
	}
}

// attempt makes one attempt, and checks what it is told.
func (r refusal) attempt(t *testing.T, m *meter, keys []string, held string) {
	t.Helper()
	obtain, mode := m.client.Obtain, redislock.ModeWrite
	if r.reads {
		obtain = m.client.ObtainRead
	}
	switch {
	case r.kept:
		mode = redislock.ModeIntent
	case r.readers > 0:
		mode = redislock.ModeRead
	}
	opt := &redislock.Options{Metadata: "the caller"}
	if r.intent {
		opt.Intent, opt.RetryStrategy = true, redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1)
	}
	_, err := obtain(t.Context(), keys, world.Long, opt)
	conflict := world.WantConflict(t, err, held, mode)
	if conflict.Metadata != "the holder" || conflict.TTL <= world.Long-world.Slack || conflict.TTL > world.Long {
		t.Errorf("got conflict %+v, want one with the holder's metadata and ttl", conflict)
	}
}
