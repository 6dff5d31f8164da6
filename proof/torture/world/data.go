package world

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// dataFaults are the nemeses by which a server loses locks: those of the README that leave two holders until the first one
// learns of it. Fencing numbers grow all the same.
func (w *world) dataFaults() []Nemesis {
	empty := lost()
	if w.target.MinUptime > 0 {
		empty = slices.DeleteFunc(empty, func(p check.Promise) bool { return p == check.Exclusion })
	}
	loses := lost()
	if w.quorum() {
		// Two majorities may have no other server in common than the one that has forgotten its numbers.
		empty, loses = append(empty, check.Fencing), append(loses, check.Fencing)
	}
	return []Nemesis{
		w.onServer("restart-empty", empty, w.restartEmpty),
		w.onServer("flush", loses, w.flush),
		w.onServer("delete", loses, w.deleteLocks),
		w.onServer("evict", loses, w.evict),
	}
}

func (w *world) quorum() bool { return w.target.Topology == Quorum3 || w.target.Topology == Quorum5 }

// restartEmpty is kill -9 and a start without any data.
func (w *world) restartEmpty(h *host, rng *rand.Rand, d time.Duration) error {
	h.kill()
	h.Wipe()
	w.forget(h)
	time.Sleep(random.Between(rng, 0, min(d, shortStop)))
	h.start()
	return nil
}

func (w *world) flush(h *host, rng *rand.Rand, d time.Duration) error {
	return during(d, random.Between(rng, 200*time.Millisecond, 2*time.Second), func() error {
		w.forget(h)
		return h.do("FLUSHALL")
	})
}

// deleteLocks is a stranger who deletes lock keys, a few of those that there are.
func (w *world) deleteLocks(h *host, rng *rand.Rand, d time.Duration) error {
	return during(d, random.Between(rng, 100*time.Millisecond, time.Second), func() error {
		return h.scan(func(key string) error {
			if strings.HasPrefix(key, beside) || rng.IntN(2) == 0 {
				return nil
			}
			return h.do("DEL", key)
		})
	})
}

// evictedAtOnce is how many bytes are too many in a server that evicts keys, at most.
const evictedAtOnce = 4000

// evict is a server that deletes keys of any kind, because it has no memory left.
func (w *world) evict(h *host, rng *rand.Rand, d time.Duration) error {
	w.forget(h)
	defer func() {
		_ = h.config("maxmemory", 0) // Heal does so, too
		_ = h.config("maxmemory-policy", "noeviction")
	}()
	if err := h.config("maxmemory-policy", []string{"allkeys-random", "volatile-ttl"}[rng.IntN(2)]); err != nil {
		return err
	}
	err := during(d, random.Between(rng, 100*time.Millisecond, time.Second), func() error {
		used, err := h.number("Memory", "used_memory")
		if err != nil {
			return err
		}
		// Before each command the server looks for keys to evict, until enough is free.
		if err := h.config("maxmemory", used-rng.Int64N(evictedAtOnce)); err != nil {
			return err
		}
		return errors.Join(h.do("PING"), h.config("maxmemory", 0))
	})
	return errors.Join(err, h.config("maxmemory-policy", "noeviction"))
}

// scan calls do for each key.
func (h *host) scan(do func(key string) error) error {
	for cursor := uint64(0); ; {
		keys, next, err := h.admin.Scan(background, cursor, "", 1000).Result()
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := do(key); err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
