package redislockgocron

import (
	"testing"
	"time"
	"unsafe"

	"github.com/seed-14de3678/redislock/held"
)

// A lease is a lock of which nothing is known but its deadline.
type lease struct {
	held.Lock
	deadline time.Time
}

func (l lease) Deadline() time.Time { return l.deadline }

// in returns a moment that comes in so long by the monotonic clock, and in another time by the wall clock, as it is after that
// was set, or the machine has slept. Nothing in package time makes one.
func in(mono, wall time.Duration) time.Time {
	at := time.Now().Add(wall)
	of := (*struct { // a time.Time that has both
		wall uint64
		mono int64
	})(unsafe.Pointer(&at))
	of.mono += int64(mono - wall)
	return at
}

// A lease is over when it is by either clock.
func TestIsOver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mono, wall time.Duration
		want       bool
	}{
		"neither":                {time.Hour, time.Hour, false},
		"both":                   {-time.Second, -time.Second, true},
		"the machine has slept":  {time.Hour, -time.Second, true},
		"the wall clock is back": {-time.Second, time.Hour, true},
	} {
		if got := isOver(lease{deadline: in(test.mono, test.wall)}); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}
