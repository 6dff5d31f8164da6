package matrix_test

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// leaving is what the last Leave of a cell has left.
type leaving struct {
	keys       []string // none: nothing is left
	metadata   string
	from, till time.Time // between them the time of the keys ends
}

// checkLeft checks that what was left is still taken, by nobody, for as long as it is to be. It reports whether it is.
func (c *cell) checkLeft(when string) bool {
	for _, key := range c.leaving.keys {
		v := c.eye.look(key) // which takes its time, so it comes before the clock
		if !time.Now().Before(c.leaving.from) {
			return true // it may be over
		}
		if what := c.wrongLeft(v); what != "" {
			c.fault("%s: %q was left, and %s: %v", when, key, what, v)
			c.leaving = leaving{}
			return false
		}
	}
	return true
}

// wrongLeft returns what is not so of a key that was left; empty if all is.
func (c *cell) wrongLeft(v stored) string {
	lease, isLeft := v.leases["|"+c.leaving.metadata]
	for value := range v.leases {
		if token, _, _ := strings.Cut(value, "|"); token != "" && (token == c.token || c.row.generated) {
			return "the token holds it"
		}
	}
	switch {
	case !isLeft:
		return "it is not left"
	case lease < time.Until(c.leaving.from)-c.slack || lease > time.Until(c.leaving.till)+c.slack:
		return fmt.Sprintf("that for %v, not %v", lease, time.Until(c.leaving.till))
	}
	return ""
}

// awaitEnd waits until what was left has ended, which it does by itself.
func (c *cell) awaitEnd() {
	if c.leaving.keys == nil {
		return
	}
	c.note("what was left comes to its end")
	c.sleep(time.Until(c.leaving.till) + c.slack)
	for _, key := range c.leaving.keys {
		if v := c.eye.look(key); slices.Contains(v.values(), "|"+c.leaving.metadata) {
			c.fault("%q was left, and its time has not ended: %v", key, v)
		}
	}
	c.leaving = leaving{}
}
