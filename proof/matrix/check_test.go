package matrix_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
)

func (c *cell) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Since(c.began).Round(time.Millisecond)
	c.notes = append(c.notes, fmt.Sprintf("%8v  ", at)+fmt.Sprintf(format, args...))
}

// fault takes note of something wrong.
func (c *cell) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.note("WRONG: %s", text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, text)
}

func (c *cell) sleep(d time.Duration) {
	time.Sleep(d)
	c.settle()
}

// dwell lets time pass, longer and longer as clean-ups do, and checks all the while.
func (c *cell) dwell(times int) {
	if c.real > 0 {
		times = 2 // a part of a second
	}
	for i := range times {
		c.sleep(60 * time.Millisecond << i)
		if !c.check("while it is held") {
			return
		}
	}
}

// arrive has the late request executed if it was not yet.
func (c *cell) arrive() {
	if _, arrived := c.network.isKept(); arrived {
		return
	}
	c.network.arrive()
	c.settle()
	if c.check("after the late request has arrived") && c.hold != nil {
		c.dwell(3)
	}
}

// around looks at the keys before and after the late request is executed. Once a later request for one of them was
// answered, the late one must change nothing.
func (c *cell) around(answer string) {
	written, busy := c.network.traffic()
	var now []stored
	for _, key := range c.keys {
		now = append(now, c.eye.look(key))
	}
	if answer == "" {
		c.before, c.written, c.busy = now, written, busy
		return
	}
	if written, _ = c.network.traffic(); c.busy || written != c.written {
		return // another request of the same moment may have changed the keys
	}
	c.network.mu.Lock()
	closed := maps.Clone(c.network.closed)
	c.network.mu.Unlock()
	if len(closed) == 0 {
		return
	}
	// Where time is real a clean-up may go on at the same time.
	if c.real > 0 && (answer == overtaken || strings.ContainsRune("opbm", rune(c.arrives))) {
		return
	}
	// A clean-up that is under way still frees what it is to free, and nobody has.
	underWay := c.way == 'C' && c.row.scripts == "release"
	for i, key := range c.keys {
		if underWay && !closed[key] {
			continue
		}
		if what := now[i].changed(c.before[i], c.row.grows, c.slack); what != "" {
			c.fault("a later request was answered, and yet the late request changes %q: %s", key, what)
		}
	}
}

// forgetOlder says that holds before the newest cannot count on their keys any more.
func (c *cell) forgetOlder() {
	c.gone = append(c.gone, c.older...)
	c.older = nil
}

// letGo releases whatever is held.
func (c *cell) letGo() {
	ctx := c.t.Context()
	c.set(func() { c.frees = true })
	defer c.set(func() { c.frees = false })
	c.forgetOlder()
	if c.hold != nil {
		c.note("Release")
		if err := c.release(ctx); err != nil {
			c.fault("Release: %v", err)
		}
	}
	for _, lock := range c.gone {
		c.note("Release of an older hold")
		if err := lock.Release(ctx); err != nil && !errors.Is(err, redislock.ErrLockNotHeld) {
			c.fault("Release of an older hold: %v", err)
		}
	}
	c.gone, c.unreleased = nil, nil
	c.settle()
}

// check checks that what the locks say is so. It reports whether it is.
func (c *cell) check(when string) bool {
	right := c.checkLeft(when)
	locks := c.older
	if c.hold != nil {
		locks = append(locks[:len(locks):len(locks)], c.hold)
	}
	for _, lock := range locks {
		what := c.wrong(lock)
		if what != "" {
			c.fault("%s: %s", when, what)
			right = false
		}
	}
	if !right { // one account of it will do
		c.hold, c.older = nil, nil
		c.gone = append(c.gone, locks...)
	}
	return right
}

// wrong returns what a lock says that is not so; empty if all is.
func (c *cell) wrong(lock *redislock.Lock) string {
	select {
	case <-lock.Lost():
		return "it counts as lost"
	default:
	}
	left := time.Until(lock.Deadline())
	if left <= 0 {
		return "its deadline is over"
	}
	older := lock != c.hold // what it reads another one may write since
	for _, key := range lock.Keys() {
		v, mine, write := c.eye.look(key), c.ownerOf(lock), slices.Contains(c.writes[lock], key)
		lease, writes := v.holds(mine)
		switch {
		case lease < left-c.slack:
			return fmt.Sprintf("it counts on %q for %v, and has %v: %v", key, left, lease, v)
		case writes != write && !c.unknown[lock] && (!older || !writes):
			return fmt.Sprintf("it writes %q: %t, and it is %v", key, write, v)
		case write && writes && !v.alone(mine):
			return fmt.Sprintf("it writes %q, and is not alone: %v", key, v)
		}
		if number := lock.Fence(); number > 0 {
			var greatest int64
			if _, err := fmt.Sscan(v.fences[""], &greatest); err != nil || greatest < number {
				return fmt.Sprintf("its number is %d, and that of %q %q", number, key, v.fences[""])
			}
		}
	}
	return ""
}

// ownerOf recognises the values that the owner of a lock has stored. A generated token is not asked for: from then
// on its caller would be one who knows it.
func (c *cell) ownerOf(lock *redislock.Lock) func(value string) bool {
	return func(value string) bool {
		token, metadata, _ := strings.Cut(value, "|")
		if c.row.generated {
			return token != "" && metadata == lock.Metadata()
		}
		return token == c.token
	}
}

// wantNothing checks that nothing is left of what everybody has released, when clean-ups have had their time.
func (c *cell) wantNothing() {
	if c.real == 0 {
		c.sleep(31 * time.Second)
	}
	left := c.left()
	for end := time.Now().Add(c.real); left != "" && time.Now().Before(end); left = c.left() {
		time.Sleep(50 * time.Millisecond)
	}
	if left != "" {
		c.fault("%s", left)
	}
}

// left is what is there of a key, if anything is.
func (c *cell) left() string {
	for _, key := range c.keys {
		if v := c.eye.look(key); !v.isFree() {
			return fmt.Sprintf("%q is left behind: %v", key, v)
		}
	}
	return ""
}
