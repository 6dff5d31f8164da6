package cost_test

import (
	"fmt"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A cycle is an Obtain of free keys and its Release, and what they may cost.
type cycle struct {
	name    string
	obtain  func(t *testing.T, m *meter, keys []string) *redislock.Lock
	alone   bool // only a single key
	sets    bool // only several keys
	known   bool // the keys were locked before, so that what stays beside them is there
	lock    limit
	release limit
	both    limit
}

func writes(opt redislock.Options) func(*testing.T, *meter, []string) *redislock.Lock {
	return func(t *testing.T, m *meter, keys []string) *redislock.Lock {
		t.Helper()
		return check.Must[*redislock.Lock](t)(m.client.Obtain(t.Context(), keys, world.Long, &opt))
	}
}

func reads(opt redislock.Options) func(*testing.T, *meter, []string) *redislock.Lock {
	return func(t *testing.T, m *meter, keys []string) *redislock.Lock {
		t.Helper()
		return check.Must[*redislock.Lock](t)(m.client.ObtainRead(t.Context(), keys, world.Long, &opt))
	}
}

func halfReads(t *testing.T, m *meter, keys []string) *redislock.Lock {
	t.Helper()
	n := len(keys) / 2
	return check.Must[*redislock.Lock](t)(m.client.ObtainSet(t.Context(), redislock.Set{Write: keys[:n], Read: keys[n:]}, world.Long, nil))
}

// What nobody else wants costs a few commands a key.
func TestFree(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	for _, c := range cycles() {
		for _, k := range []int{1, 2, 8, 64, 256} {
			if c.alone && k > 1 || c.sets && k == 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s k=%d", c.name, k), func(t *testing.T) {
				check.NoError(t, c.obtain(t, m, newKeys("set", k)).Release(t.Context())) // the server learns the scripts
				cheap(t, func(b *bill) {
					keys := newKeys("set", k)
					if c.known {
						check.NoError(t, c.obtain(t, m, keys).Release(t.Context()))
					}
					var lock *redislock.Lock
					obtained := m.counts(t, func() { lock = c.obtain(t, m, keys) })
					released := m.counts(t, func() { check.NoError(t, lock.Release(t.Context())) })
					c.lock.within(b, c.name+": obtain", k, obtained)
					c.release.within(b, c.name+": release", k, released)
					c.both.within(b, c.name+": both", k, obtained.And(released))
				})
			})
		}
	}
}
