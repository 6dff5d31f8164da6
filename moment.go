package redislock

import (
	"fmt"
	"time"
)

// A moment is a point in time on two clocks. Go's monotonic clock stands still while the machine
// sleeps, the wall clock may be set; what ends a lease is whichever of them has moved further.
type moment struct {
	mono time.Duration // since processStart
	wall time.Duration // since 1970
}

// now reads both clocks at once.
func now() moment {
	t := time.Now()
	return moment{mono: t.Sub(processStart), wall: time.Duration(t.UnixNano())}
}

func (m moment) add(d time.Duration) moment { return moment{m.mono + d, m.wall + d} }

// since returns how much time has passed from an earlier moment: the greater of two opinions.
func (m moment) since(earlier moment) time.Duration {
	return max(m.mono-earlier.mono, m.wall-earlier.wall)
}

// reached reports whether the moment is at or after the deadline on either clock.
func (m moment) reached(deadline moment) bool { return m.since(deadline) >= 0 }

// precedes reports whether something is still to come, by the monotonic clock: where a wall clock
// set forward must not make it seem past. The zero moment is not to come.
func (m moment) precedes(later moment) bool { return later != (moment{}) && m.mono < later.mono }

// until returns how long it takes, by the monotonic clock, until something comes: 0 if it is past.
func (m moment) until(later moment) time.Duration {
	if !m.precedes(later) {
		return 0
	}
	return later.mono - m.mono
}

// earlier returns a moment that is reached as soon as either of two is.
func (m moment) earlier(other moment) moment {
	return moment{min(m.mono, other.mono), min(m.wall, other.wall)}
}

// slept returns how far the wall clock has run ahead of the monotonic one since an earlier moment.
func (m moment) slept(earlier moment) time.Duration {
	return (m.wall - earlier.wall) - (m.mono - earlier.mono)
}

// time returns the moment for a caller: comparable with time.Now, and shown by the wall clock.
func (m moment) time() time.Time { return processStart.Add(m.mono) }

// window returns for how long a lease of ttl counts, from the moment before it was asked for: less
// 1 % and 2 ms for clocks that run at different rates, but never less than half.
func window(ttl time.Duration) time.Duration {
	return ttl - min(ttl/100+2*time.Millisecond, ttl/2)
}

const (
	minTTL = time.Millisecond // what Redis can count
	maxTTL = 365 * 24 * time.Hour
)

// checkTTL rounds a ttl up to whole milliseconds, if it is one that a lock can have.
func checkTTL(ttl time.Duration) (time.Duration, error) {
	if ttl <= 0 || ttl > maxTTL {
		return 0, fmt.Errorf("%w: %s is not between %s and %s", ErrInvalidTTL, ttl, minTTL, maxTTL)
	}
	return (ttl + minTTL - 1).Truncate(minTTL), nil
}

// millis returns a duration as Redis counts it, rounded up.
func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// fromMillis returns a duration from a reply, kept within what a lock can have; negative for -1.
func fromMillis(ms int64) time.Duration {
	return time.Duration(max(-1, min(ms, int64(maxTTL/time.Millisecond)))) * time.Millisecond
}
