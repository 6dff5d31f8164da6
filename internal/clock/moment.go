// Package clock has points in time that also count while the machine sleeps or its clock is set, and a schedule of
// tasks for them.
package clock

import (
	"fmt"
	"time"
)

// ProcessStart is when this package was initialised: close enough to the start of the process.
var ProcessStart = time.Now()

// Longest is the longest time that is counted.
const Longest = 365 * 24 * time.Hour

// A Moment is a point in time on two clocks. Go's monotonic clock stands still while the machine sleeps; the wall clock
// may be set. A time ends by the clock that has moved further.
type Moment struct {
	Mono time.Duration // since ProcessStart
	Wall time.Duration // since 1970
}

// Now reads both clocks at once.
func Now() Moment {
	t := time.Now()
	return Moment{Mono: t.Sub(ProcessStart), Wall: time.Duration(t.UnixNano())}
}

// Add returns the moment that is so much later.
func (m Moment) Add(d time.Duration) Moment { return Moment{m.Mono + d, m.Wall + d} }

// Since returns how much time has passed from an earlier Moment: the greater of two opinions.
func (m Moment) Since(earlier Moment) time.Duration {
	return max(m.Mono-earlier.Mono, m.Wall-earlier.Wall)
}

// Reached reports whether the moment is at or after the deadline on either clock.
func (m Moment) Reached(deadline Moment) bool {
	return m.Mono >= deadline.Mono || m.Wall >= deadline.Wall
}

// Precedes reports whether something is still to come, by the monotonic clock, so that a wall clock set forward does
// not make it seem past. The zero moment is not to come.
func (m Moment) Precedes(later Moment) bool { return later != (Moment{}) && m.Mono < later.Mono }

// Until returns how long it takes, by the monotonic clock, until something comes: 0 if it is past.
func (m Moment) Until(later Moment) time.Duration {
	if !m.Precedes(later) {
		return 0
	}
	return later.Mono - m.Mono
}

// Earlier returns a moment that is reached as soon as either of two is.
func (m Moment) Earlier(other Moment) Moment {
	return Moment{min(m.Mono, other.Mono), min(m.Wall, other.Wall)}
}

// Later returns whichever of two moments comes last by the monotonic clock. The zero moment never does.
func (m Moment) Later(other Moment) Moment {
	if m == (Moment{}) || m.Precedes(other) {
		return other
	}
	return m
}

// slept returns how far the wall clock has run ahead of the monotonic one since an earlier Moment.
func (m Moment) slept(earlier Moment) time.Duration {
	return (m.Wall - earlier.Wall) - (m.Mono - earlier.Mono)
}

// Time returns the moment for a caller: comparable with time.Now, and shown by the wall clock. The zero moment is the
// zero time.
func (m Moment) Time() time.Time {
	if m == (Moment{}) {
		return time.Time{}
	}
	return ProcessStart.Add(m.Mono)
}

// Window returns the part of a time counted by a server that is certain, from the moment before the server was asked.
// It is all but 1 % and 2 ms, for clocks that run at different rates, and never less than half.
func Window(ttl time.Duration) time.Duration {
	return ttl - min(ttl/100+2*time.Millisecond, ttl/2)
}

// CheckTTL refuses a lease that is shorter or longer than Redis counts. Its text goes behind the name of a lease.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond || ttl > Longest {
		return fmt.Errorf("%s is not between %s and %s%s", ttl, time.Millisecond, Longest, unitOf(ttl, time.Millisecond))
	}
	return nil
}

// CheckTimes checks how long an Obtain may wait, and for how long it holds its keys at least. It returns the name of an
// option that is negative, too short but not 0, or longer than any time that is counted. It also returns why the option
// is refused; empty if none is.
func CheckTimes(wait, holdAtLeast time.Duration) (name, why string) {
	for _, o := range [...]struct {
		name     string
		d, least time.Duration
	}{{"Wait", wait, time.Microsecond}, {"HoldAtLeast", holdAtLeast, time.Millisecond}} {
		if o.d != 0 && (o.d < o.least || o.d > Longest) {
			return o.name, fmt.Sprintf("%s is neither 0 nor between %s and %s%s", o.d, o.least, Longest, unitOf(o.d, o.least))
		}
	}
	return "", ""
}

// unitOf asks for the unit of a time that is most likely a number without one.
func unitOf(d, least time.Duration) string {
	if d <= 0 || d >= least {
		return ""
	}
	return ": a number without a unit counts nanoseconds, write 30*time.Second, for example"
}

// AfterEnd is the time after which the end of a time counted by a server is certain to be over.
const AfterEnd = 2 * time.Millisecond

// Millis returns a duration as Redis counts it, rounded up.
func Millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// FromMillis returns a duration from a reply, kept within the longest; negative for -1.
func FromMillis(ms int64) time.Duration {
	return time.Duration(max(-1, min(ms, int64(Longest/time.Millisecond)))) * time.Millisecond
}

// IsVirtual reports whether the clock belongs to a bubble of testing/synctest, which begins in the year 2000.
func IsVirtual() bool { return time.Now().Year() < 2020 }
