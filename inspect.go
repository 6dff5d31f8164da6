package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A KeyState says who holds a key, as [Client.Inspect] found it.
type KeyState struct {
	Key     string
	Mode    Mode     // free, write, read or foreign
	Type    string   // the Redis type of a foreign key, else empty
	Holders []Holder // the one writer, or every reader, in the order in which their leases end
	Intent  *Holder  // the writer that waits and keeps new readers out; nil if there is none
	Line    []Waiter // who stands in line for the key, the next one first
	Fence   int64    // the last fencing number that was given for the key; 0: none in the last day
	// TTL is the remaining life of the key itself: 0 if it is free, negative if it has none,
	// which no lock of this package is.
	TTL time.Duration
}

// String says it on one line, for somebody who looks for what is stuck.
func (s KeyState) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q ", s.Key)
	switch s.Mode {
	case ModeFree:
		b.WriteString("is free")
	case ModeForeign:
		fmt.Fprintf(&b, "holds a %s that is no lock", s.Type)
	default:
		fmt.Fprintf(&b, "is %s-locked", s.Mode)
	}
	for i, holder := range s.Holders {
		b.WriteString([]string{" by ", " and "}[min(i, 1)] + holder.String())
	}
	if s.Intent != nil {
		b.WriteString("; a writer waits: " + s.Intent.String())
	}
	for i, waiter := range s.Line {
		b.WriteString([]string{"; in line: ", ", "}[min(i, 1)] + waiter.String())
	}
	return b.String()
}

// A Waiter is one who stands in line for a key.
type Waiter struct {
	Mode     Mode // in which it wants the key: write or read
	Metadata string
	Since    time.Time // by the server's clock
	Alive    bool      // it has asked in the last 15 s; one that has not is passed over
}

// String shows who wants to do what, and since when.
func (w Waiter) String() string {
	who := legible(w.Metadata)
	if who == "" {
		who = "somebody"
	}
	if !w.Alive {
		who += ", gone,"
	}
	return fmt.Sprintf("%s to %s since %s", who, w.Mode, w.Since.UTC().Format(time.RFC3339))
}

// A Holder is one owner of a key. Its token is not told: whoever has it could release the lock.
type Holder struct {
	Metadata string
	TTL      time.Duration
}

// String shows the metadata and the lease that is left.
func (h Holder) String() string {
	who := legible(h.Metadata)
	if who == "" {
		who = "somebody"
	}
	return fmt.Sprintf("%s (%s left)", who, round(h.TTL))
}

// Inspect tells who holds the keys, and who waits for them. Each key is read in one step, the keys one after the other:
// they may be anywhere in a Cluster, and any number. It changes nothing. It waits for the answers
// until ctx ends.
func (c *Client) Inspect(ctx context.Context, keys ...string) ([]KeyState, error) {
	if err := c.usable(); err != nil {
		return nil, fmt.Errorf("redislock: inspect: %w", err)
	}
	keys = slices.Clone(keys)
	calls := make([]*call, len(keys))
	for i, key := range keys {
		if key == "" {
			return nil, fmt.Errorf("redislock: inspect: %w: key %d is empty", ErrInvalidKeys, i)
		}
		beside := []string{lineOf(key), slot.Beside("intent", key), slot.Beside("fence", key)}
		calls[i] = newCall(ctx, inspectScript, keys[i:i+1:i+1], beside, nil, 0)
	}
	states := make([]KeyState, len(keys))
	err := c.transport.all(ctx, calls, func(i int) error {
		set := keySet{keys: keys[i : i+1]}
		if calls[i].err != nil {
			return fault("inspect", set, calls[i])
		}
		reply, _ := calls[i].reply.([]any)
		state, err := decodeState(keys[i], reply)
		if err != nil {
			return fmt.Errorf("redislock: inspect %s: %w", set, err)
		}
		states[i] = state
		return nil
	})
	if err != nil {
		return nil, err
	}
	return states, nil
}

// decodeState decodes the reply of inspect.lua.
func decodeState(key string, reply []any) (KeyState, error) {
	d := decoder{reply: reply}
	s := KeyState{Key: key, Mode: Mode(d.text())}
	ttl := d.number()
	if s.Mode != ModeFree {
		s.TTL = clock.FromMillis(ttl)
	}
	s.Fence = d.number()
	if left, metadata := d.number(), d.text(); left != -2 {
		s.Intent = &Holder{Metadata: metadata, TTL: clock.FromMillis(left)}
	}
	for n := d.number(); n > 0 && !d.bad; n-- {
		text, left := d.text(), clock.FromMillis(d.number())
		if s.Mode == ModeForeign {
			s.Type = text
		} else {
			s.Holders = append(s.Holders, Holder{Metadata: text, TTL: left})
		}
	}
	for len(d.reply) > 0 && !d.bad {
		s.Line = append(s.Line, Waiter{
			Mode: Mode(d.text()), Metadata: d.text(), Since: time.UnixMicro(d.number()), Alive: d.number() == 1,
		})
	}
	if d.bad {
		return KeyState{}, errors.New("unexpected reply")
	}
	return s, nil
}

// A decoder reads a flat array from its front.
type decoder struct {
	reply []any
	bad   bool // a value was missing, or of another type
}

func (d *decoder) next() any {
	if len(d.reply) == 0 {
		return nil
	}
	v := d.reply[0]
	d.reply = d.reply[1:]
	return v
}

func (d *decoder) text() string {
	s, ok := d.next().(string)
	d.bad = d.bad || !ok
	return s
}

func (d *decoder) number() int64 {
	n, ok := d.next().(int64)
	d.bad = d.bad || !ok
	return n
}
