package redislock

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/shown"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A KeyState says who holds a key and who waits for it.
type KeyState struct {
	Key     string
	Mode    Mode          // free, write, read or foreign
	Type    string        // the Redis type of a foreign key, else empty
	Holders []Holder      // the one writer, or every reader, in the order in which their leases end
	Intent  *Holder       // the writer that waits and keeps new readers out; nil if there is none
	Line    []Waiter      // who stands in line for the key, the next one first
	Fence   int64         // the last fencing number that was given for the key; 0: none in the last day
	TTL     time.Duration // the remaining life of the key; 0 if it is free, negative if the key has no TTL
}

// String describes the key in one line.
func (s KeyState) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q ", s.Key)
	switch s.Mode {
	case ModeFree:
		b.WriteString("is free")
	case ModeForeign:
		fmt.Fprintf(&b, "is foreign: it holds a %s that is no lock", s.Type)
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

// A Waiter is an Obtain that stands in line for a key.
type Waiter struct {
	Mode     Mode // in which it wants the key: write or read
	Metadata string
	Caller   string    // the id of [WithCaller] that is stored beside the metadata; empty if there is none
	Since    time.Time // by the server's clock
	Alive    bool      // it has asked in the last 15 s; one that has not is passed over
}

// String says which lock the waiter wants, who it is, and since when it waits.
func (w Waiter) String() string {
	name := cmp.Or(who(w.Metadata, w.Caller), "somebody")
	if !w.Alive {
		name += ", gone,"
	}
	return fmt.Sprintf("%s to %s since %s", name, w.Mode, w.Since.UTC().Format(time.RFC3339))
}

// A Holder is one owner of a key. It does not contain the token, because a token gives the right to release.
type Holder struct {
	Key      string // that the owner holds
	Mode     Mode   // in which it holds the key: write or read; or intent, see [KeyState].Intent
	Metadata string
	Caller   string // the id of [WithCaller] that is stored beside the metadata; empty if there is none
	Left     bool   // it has left the key, which is kept for the TTL: see [Lock.Leave]
	TTL      time.Duration
	// Since is the moment at which the Obtain of the lock began, by the wall clock of its process. It is zero
	// for a token of [Client.As], and if the holder has left the key.
	Since time.Time
}

// String returns the metadata and the remaining lease.
func (h Holder) String() string {
	name := cmp.Or(who(h.Metadata, h.Caller), "somebody")
	if h.Left {
		return fmt.Sprintf("%s (after its work, %s to go)", name, shown.Duration(h.TTL))
	}
	return fmt.Sprintf("%s (%s left)", name, shown.Duration(h.TTL))
}

// Inspect returns who holds the keys and who waits for them. It changes nothing. It reads each key in one step,
// and the keys one after the other, so they may be anywhere in a Cluster, and any number of them.
func (c *Client) Inspect(ctx context.Context, keys []string) ([]KeyState, error) {
	if err := c.usable(); err != nil {
		return nil, fmt.Errorf("redislock: inspect: %w", err)
	}
	calls := make([]*call, len(keys))
	for i, key := range keys {
		if key == "" {
			return nil, fmt.Errorf("redislock: inspect: %w", invalid("keys", "key %d is empty", i))
		}
		key = c.RedisKey(key)
		r := new(call)
		proto.Inspect{
			Key: key, Line: lineOf(key), Intent: slot.Beside("intent", key), Fence: slot.Beside("fence", key),
		}.Fill(&r.run)
		calls[i] = r.begins(ctx)
	}
	if ctx.Err() != nil { // otherwise chance would decide for which keys it asks
		return nil, fmt.Errorf("redislock: inspect: not asked: %w", context.Cause(ctx))
	}
	for _, r := range calls {
		c.conn.Ask(&r.Call)
	}
	states := make([]KeyState, len(keys))
	var first error
	for i, r := range calls { // each is waited for, or abandoned
		var err error
		states[i], err = c.inspected(ctx, r)
		first = cmp.Or(first, err)
	}
	if first != nil {
		return nil, first
	}
	return states, nil
}

// inspected waits for the answer about one key.
func (c *Client) inspected(ctx context.Context, r *call) (KeyState, error) {
	set := keySet{Set: proto.Set{Keys: r.run.Keys()}, cut: len(c.prefix)}
	if !c.conn.Await(ctx, &r.Call, 0) && r.Abandon(nil) {
		return KeyState{}, interrupted(ctx, "inspect", set)
	}
	if r.Err != nil {
		return KeyState{}, about("inspect", set, r.fault(false))
	}
	s, err := r.run.State(r.Reply)
	if err != nil {
		return KeyState{}, fmt.Errorf("redislock: inspect %s: %w", set, err)
	}
	state := KeyState{Key: r.run.Keys()[0][set.cut:], Mode: Mode(s.Mode), TTL: s.TTL, Type: s.Type, Fence: s.Fence}
	for i := range s.Holders {
		state.Holders = append(state.Holders, newHolder(state.Key, state.Mode, &s.Holders[i]))
	}
	if s.Intent != nil {
		intent := newHolder(state.Key, ModeIntent, s.Intent)
		state.Intent = &intent
	}
	for _, w := range s.Line {
		waiter := Waiter{Mode: Mode(w.Mode), Since: w.Since, Alive: w.Alive}
		waiter.Caller, waiter.Metadata = proto.DecodeDetail(w.Stored)
		state.Line = append(state.Line, waiter)
	}
	return state, nil
}

// newHolder makes a holder from the reply of a script.
func newHolder(key string, mode Mode, h *proto.Holder) Holder {
	holder := Holder{Key: key, Mode: mode, Left: h.Left, TTL: h.TTL, Since: h.Since}
	holder.Caller, holder.Metadata = proto.DecodeDetail(h.Stored)
	return holder
}
