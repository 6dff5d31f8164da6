package cost_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A crowd is who reads a key already.
type crowd struct {
	alive, expired int
	fenced         bool // all of them have numbers
}

// reads puts the crowd into a key, and returns its name.
func (c crowd) reads(t *testing.T, m *meter) string {
	t.Helper()
	const chunk = 1000
	key, last := newKeys("set", 1)[0], time.Now().Add(world.Long)
	number := time.Now().UnixMicro()
	numbers := []any{"", number}
	pipe := m.admin.Pipeline()
	for first := 0; first < c.alive+c.expired; first += chunk {
		var members []redis.Z
		for i := first; i < min(first+chunk, c.alive+c.expired); i++ {
			till := last.Add(-time.Minute)
			if i < c.expired {
				till = time.Now().Add(-time.Minute)
			}
			members = append(members, redis.Z{Score: float64(till.UnixMilli()), Member: generated(i)})
			numbers = append(numbers, generated(i), number)
		}
		pipe.ZAdd(t.Context(), key, members...)
		if c.fenced {
			pipe.HSet(t.Context(), slot.Beside("fence", key), numbers...)
			numbers = nil
		}
	}
	pipe.PExpireAt(t.Context(), key, last)
	pipe.PExpire(t.Context(), slot.Beside("fence", key), 24*time.Hour)
	check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
	return key
}

// generated is the i'th token, as the client generates them.
func generated(i int) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(make([]byte, 8), uint64(i)*0x9E3779B97F4A7C15))
}

// readsToo has one more read the key for a while.
func (c crowd) readsToo(t *testing.T, m *meter, key string) {
	t.Helper()
	opt := &redislock.Options{Fenced: c.fenced, Metadata: "one more"}
	lock := check.Must[*redislock.Lock](t)(m.client.ObtainRead(t.Context(), []string{key}, world.Long, opt))
	check.NoError(t, lock.Refresh(t.Context(), world.Long))
	check.NoError(t, lock.Release(t.Context()))
}

// However many read a key, one more costs the same.
func TestReaders(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	for _, fenced := range []bool{false, true} {
		few := crowd{alive: 10, fenced: fenced}
		few.readsToo(t, m, few.reads(t, m)) // the server learns the scripts
		key := few.reads(t, m)
		least := m.least(t, func() { few.readsToo(t, m, key) })
		for _, many := range []crowd{{alive: 3000, fenced: fenced}, {alive: 300, expired: 2700, fenced: fenced}} {
			l := limit{0, least.Total()}
			if many.expired > 0 {
				l = l.and(forgetting)
			}
			cheap(t, func(b *bill) {
				key := many.reads(t, m)
				commands := m.counts(t, func() { many.readsToo(t, m, key) })
				what := named(fmt.Sprintf("one more than %d readers and %d expired ones", many.alive, many.expired), fenced, 1)
				l.within(b, what, 1, commands)
			})
		}
	}
}

// Readers that have expired are forgotten by and by: each who comes, renews or leaves takes some of them away.
func TestReadersForgotten(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	for _, fenced := range []bool{false, true} {
		c := crowd{alive: 300, expired: 2700, fenced: fenced}
		key := c.reads(t, m)
		left := func() (members, numbers int64) {
			return m.admin.ZCard(t.Context(), key).Val(), m.admin.HLen(t.Context(), slot.Beside("fence", key)).Val()
		}
		const operations, mostMembers, mostNumbers = 3000, 300, 2*300 + 64
		done, members, numbers := 0, int64(mostMembers+1), int64(0)
		for ; done < operations && (members > mostMembers || numbers > mostNumbers); done += 3 {
			c.readsToo(t, m, key)
			members, numbers = left()
		}
		t.Logf("fenced %v: %d members and %d numbers are left after %d operations", fenced, members, numbers, done)
		if members > mostMembers || numbers > mostNumbers {
			t.Errorf("fenced %v: %d members and %d numbers are left after %d operations, want at most %d and %d",
				fenced, members, numbers, done, mostMembers, mostNumbers)
		}
	}
}

// No script looks at all readers of a key, or at all of their numbers.
func TestReadersNotLookedAt(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	for _, fenced := range []bool{false, true} {
		few, many := crowd{alive: 10, fenced: fenced}, crowd{alive: 100_000, fenced: fenced}
		small, big := few.reads(t, m), many.reads(t, m)
		locks := make(map[string]*redislock.Lock)
		opt := &redislock.Options{Fenced: fenced, Metadata: "one more"}
		for _, step := range []struct {
			name string
			do   func(key string)
		}{
			{"obtain", func(key string) {
				locks[key] = check.Must[*redislock.Lock](t)(m.client.ObtainRead(t.Context(), []string{key}, world.Long, opt))
			}},
			{"refresh", func(key string) { check.NoError(t, locks[key].Refresh(t.Context(), world.Long)) }},
			{"ttl", func(key string) { check.Must[time.Duration](t)(locks[key].TTL(t.Context())) }},
			{"refused", func(key string) {
				_, err := m.client.Obtain(t.Context(), []string{key}, world.Long, opt)
				world.WantConflict(t, err, key, redislock.ModeRead)
			}},
			{"release", func(key string) { check.NoError(t, locks[key].Release(t.Context())) }},
		} {
			check.NoError(t, m.admin.ScriptFlush(t.Context()).Err()) // an empty memory
			step.do(small)                                           // the server learns the script
			m.notLookedAt(t, named(step.name, fenced, 1), func() { step.do(big) })
		}
	}
}
