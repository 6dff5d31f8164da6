package property_test

import (
	"encoding/binary"
	"errors"
)

// Choices are bytes, each of which decides something. When they are used up, each choice is the first.
type choices struct {
	bytes []byte
}

func (c *choices) next(n int) int {
	if len(c.bytes) == 0 {
		return 0
	}
	b := int(c.bytes[0])
	c.bytes = c.bytes[1:]
	return b % n
}

func choose[T any](c *choices, from ...T) T { return from[c.next(len(from))] }

// set chooses keys of some bunches, those of a bunch in the same mode; at least one key. Of many keys it may choose a part.
func (c *choices) set(bunches [][]string) map[string]mode {
	set, all := map[string]mode{}, 1
	for range bunches {
		all *= 3
	}
	n := c.next(all-1) + 1 // in base three: not a part, written, read
	for _, bunch := range bunches {
		if len(bunch) > 1 && n%3 > 0 {
			bunch = bunch[choose(c, 0, 50):]
		}
		for _, key := range bunch {
			switch n % 3 {
			case 1:
				set[key] = write
			case 2:
				set[key] = read
			}
		}
		n /= 3
	}
	return set
}

// reply makes a reply of the kinds that go-redis returns, and some that it does not.
func (c *choices) reply(depth int) any {
	switch kind := c.next(12); {
	case kind < 4:
		return int64(c.next(8)) - 2
	case kind == 4:
		return c.number()
	case kind == 5:
		return choose(c, "", "write", "read", "free", "foreign", "queue", "intent", "restarted", "left", "1")
	case kind == 6:
		return c.text()
	case kind == 7:
		return choose[any](c, nil, true, 1.5, errors.New("ERR"), map[any]any{"a": int64(1)})
	case depth > 3:
		return int64(1)
	}
	list := make([]any, c.next(9))
	for i := range list {
		list[i] = c.reply(depth + 1)
	}
	return list
}

func (c *choices) number() int64 {
	var b [8]byte
	c.bytes = c.bytes[copy(b[:], c.bytes):]
	return int64(binary.LittleEndian.Uint64(b[:]))
}

func (c *choices) text() string {
	n := min(c.next(40), len(c.bytes))
	text := string(c.bytes[:n])
	c.bytes = c.bytes[n:]
	return text
}
