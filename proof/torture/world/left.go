package world

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	beside      = "redislock:" // how the names of keys beside lock keys begin
	leastGuard  = 1 << 52      // the least score of a guard in a line: that of a waiter is smaller
	withoutTTL  = time.Duration(-1)
	isGone      = time.Duration(-2)
	leftByOwner = "|" // how a value begins whose owner has left the key
)

// Left looks at all keys. Fencing numbers, guards, keys that their owners have left, and the entries of waiters that are dead,
// end by themselves and are not named. If nothing is left, clocks that were set back are set right: then nobody has a lease
// that would end too soon by that.
func (w *world) Left() ([]string, error) {
	w.servers.Lock()
	defer w.servers.Unlock()
	hosts, err := w.serving()
	if err != nil {
		return nil, err
	}
	var left []string
	err = each(hosts, func(h *host) error {
		now, err := h.admin.Time(background).Result()
		if err != nil {
			return err
		}
		return h.scan(func(key string) error {
			what, err := h.stays(key, now.UnixMilli())
			if err == nil && what != "" {
				left = append(left, fmt.Sprintf("%s at port %d: %s", key, h.Port(), what))
			}
			return err
		})
	})
	slices.Sort(left)
	if len(left) == 0 && err == nil {
		for _, h := range w.hosts {
			if h.clock != nil {
				h.clock.set(0)
			}
		}
	}
	return left, err
}

// stays says why a key should not be there, and nothing if it may.
func (h *host) stays(key string, now int64) (string, error) {
	ttl, err := h.admin.PTTL(background, key).Result()
	switch {
	case err != nil || ttl == isGone:
		return "", err
	case ttl == withoutTTL:
		return "it has no TTL", nil
	}
	kind, err := h.admin.Type(background, key).Result()
	if err != nil {
		return "", err
	}
	switch isLine, isBeside := strings.HasPrefix(key, beside+"line"), strings.HasPrefix(key, beside); {
	case isLine && kind == "zset":
		return h.waiters(key, now)
	case strings.HasPrefix(key, beside+"intent"):
		return "a writer waits", nil
	case isBeside:
		return "", nil
	case kind == "string":
		value, err := h.admin.Get(background, key).Result()
		if errors.Is(err, redis.Nil) || strings.HasPrefix(value, leftByOwner) {
			return "", nil
		}
		return fmt.Sprintf("it is write-locked for %v", ttl), err
	case kind == "zset":
		return h.readers(key, now)
	}
	return "", nil
}

// waiters says who stands in a line.
func (h *host) waiters(line string, now int64) (string, error) {
	entries, err := h.admin.ZRangeWithScores(background, line, 0, -1).Result()
	for _, e := range entries {
		fields := strings.Split(fmt.Sprint(e.Member), "|")
		if e.Score >= leastGuard || len(fields) < 2 {
			continue
		}
		if alive, err := strconv.ParseInt(fields[1], 10, 64); err == nil && alive > now {
			return fmt.Sprintf("%s waits", fields[0]), nil
		}
	}
	return "", err
}

// readers says who reads a key.
func (h *host) readers(key string, now int64) (string, error) {
	members, err := h.admin.ZRangeWithScores(background, key, 0, -1).Result()
	for _, m := range members {
		value := fmt.Sprint(m.Member)
		if int64(m.Score) > now && !strings.HasPrefix(value, leftByOwner) {
			return fmt.Sprintf("it is read-locked for %v", time.Duration(int64(m.Score)-now)*time.Millisecond), nil
		}
	}
	return "", err
}
