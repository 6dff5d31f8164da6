package redislock

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A Set is what one Obtain locks: keys that nobody else may have, and keys that others may read
// meanwhile. A key in both lists is a write key.
type Set struct {
	Write []string
	Read  []string
}

// A keySet is what one lock covers: the write keys, then the read keys, each once, in the order in which the caller
// named them. It never changes after it is made. It has the names of the keys in Redis, with the prefix of their
// Client; callers see them without it.
type keySet struct {
	proto.Set
	cut int // length of the prefix
}

// newKeySet copies the keys, as callers name them, and drops the repeated ones; a key in both lists is a
// write key. Few names may go into room.
func (s *settings) newKeySet(of Set, room []string) (keySet, error) {
	set := keySet{Set: proto.Set{Keys: room}, cut: len(s.prefix)}
	if n := 2 * (len(of.Write) + len(of.Read)); cap(room) < n {
		set.Keys = make([]string, 0, n) // the lines are behind the keys
	}
	var seen map[string]struct{}
	if cap(set.Keys) > 32 {
		seen = make(map[string]struct{}, cap(set.Keys)/2)
	}
	for _, key := range of.Write {
		set.add(key, seen)
	}
	set.Writes = len(set.Keys)
	for _, key := range of.Read {
		set.add(key, seen)
	}
	switch {
	case len(set.Keys) == 0:
		return set, invalid("keys", "the set is empty")
	case len(set.Keys) > s.maxKeys:
		return set, invalid("keys", "the set has %d keys, the limit is %d (see WithMaxKeys)", len(set.Keys), s.maxKeys)
	}
	for i, key := range set.Keys {
		if key == "" {
			return set, invalid("keys", "key %d of the set is empty", i)
		}
		if s.prefix != "" {
			set.Keys[i] = s.prefix + key
		}
	}
	n := len(set.Keys)
	for _, key := range set.Keys[:n:n] {
		set.Keys = append(set.Keys, lineOf(key))
	}
	set.Keys, set.Lines = set.Keys[:n:n], set.Keys[n:]
	return set, nil
}

// add appends a key that is not there yet. Few keys are compared one by one: that is faster than
// a map and allocates nothing.
func (s *keySet) add(key string, seen map[string]struct{}) {
	if seen != nil {
		if _, again := seen[key]; again {
			return
		}
		seen[key] = struct{}{}
	} else if slices.Contains(s.Keys, key) {
		return
	}
	s.Keys = append(s.Keys, key)
}

// mode is what the set as a whole counts as in events: write if any key is.
func (s keySet) mode() Mode {
	if s.Writes == 0 {
		return ModeRead
	}
	return ModeWrite
}

// shown returns the keys as callers name them, not to be changed.
func (s keySet) shown() []string { return withoutPrefix(s.Keys, s.cut) }

// as gives the same keys other modes: the first write of them are write keys, or all if they are fewer.
func (s keySet) as(write int) keySet {
	s.Writes = min(write, len(s.Keys))
	return s
}

// split takes some of the keys, as callers name them, out of the set.
func (s keySet) split(keys []string) (part, rest keySet, err error) {
	wanted := make(map[string]bool, len(keys))
	for _, key := range keys {
		wanted[key] = true
	}
	part.cut, rest.cut = s.cut, s.cut
	for i, key := range s.Keys {
		to := &rest
		if wanted[key[s.cut:]] {
			to = &part
			delete(wanted, key[s.cut:])
		}
		to.Keys, to.Lines = append(to.Keys, key), append(to.Lines, s.Lines[i])
		if s.IsFenced() {
			to.Fences = append(to.Fences, s.Fences[i])
		}
		if i < s.Writes {
			to.Writes++
		}
	}
	for _, key := range keys {
		if wanted[key] {
			return part, rest, invalid("keys", "%q is not in the set", key)
		}
	}
	return part, rest, nil
}

// String names the set in errors: its first key, and the number of others.
func (s keySet) String() string {
	if len(s.Keys) == 1 {
		return strconv.Quote(s.Keys[0][s.cut:])
	}
	return fmt.Sprintf("%q and %d more", s.Keys[0][s.cut:], len(s.Keys)-1)
}

// mostLogged is how many keys of a set are named in the log.
const mostLogged = 20

// logged is what the log says of a set: its keys as a list, how many more there are, and then what else is given.
func (s keySet) logged(what ...any) []any {
	shown := s.Keys[:min(len(s.Keys), mostLogged)]
	args := []any{"keys", slices.Clone(withoutPrefix(shown, s.cut))}
	if more := len(s.Keys) - len(shown); more > 0 {
		args = append(args, "more_keys", more)
	}
	return append(args, what...)
}

// lineOf names the line of a lock key.
func lineOf(key string) string { return slot.Beside("line", key) }

// besides appends the name beside each key.
func besides(to []string, purpose string, keys []string) []string {
	for _, key := range keys {
		to = append(to, slot.Beside(purpose, key))
	}
	return to
}

// placement says which keys may stand in one set on a kind of Redis client.
type placement int

const (
	anywhere placement = iota // one server: all of them
	bySlot                    // Cluster: keys of one slot
	byTag                     // Ring: keys of one hash tag; the place of others changes with the shards
	byBraces                  // a wrapped Ring: the same, and the wrapper may change what is outside the braces
)

// placementOf says which sets a client can lock.
func placementOf(conn *wire.Conn) placement {
	switch conn.Kind() {
	case wire.Cluster:
		return bySlot
	case wire.Ring:
		if conn.Wrapped() {
			return byBraces
		}
		return byTag
	default:
		return anywhere
	}
}

// check reports ErrCrossSlot, with two keys that disagree, if the set cannot live in one place.
func (p placement) check(set keySet) error {
	if p == anywhere || len(set.Keys) < 2 {
		return nil
	}
	first := set.Keys[0]
	tag := slot.Tag(first)
	home := slot.Of(first)
	for _, key := range set.Keys[1:] {
		switch {
		case slot.Tag(key) == tag && (p != byBraces || slot.IsTagged(first) && slot.IsTagged(key)):
		case p == byTag, p == byBraces:
			return fmt.Errorf("%w: %q and %q have no common hash tag, and may be on different shards",
				ErrCrossSlot, first[set.cut:], key[set.cut:])
		case slot.Of(key) != home:
			return fmt.Errorf("%w: %q is in slot %d, %q in slot %d",
				ErrCrossSlot, first[set.cut:], home, key[set.cut:], slot.Of(key))
		}
	}
	return nil
}

// mostPrefix is how many bytes a prefix has at most.
const mostPrefix = 256

// WithKeyPrefix puts a prefix such as "lock:" in front of every key, so that no lock has the name of data. Callers
// name keys without the prefix, and are shown them without it. Every process needs the same prefix: two Clients
// exclude each other only at keys whose whole names are the same. A prefix has 1 to 256 bytes and no braces. With
// any other prefix every operation of the Client returns an error. Default: no prefix.
func WithKeyPrefix(prefix string) ClientOption {
	return func(s *settings) { s.prefix, s.unfit = prefix, errors.Join(s.unfit, unfitPrefix(prefix)) }
}

func unfitPrefix(prefix string) error {
	switch {
	case prefix == "":
		return errors.New("WithKeyPrefix was given an empty prefix: without the option there is none")
	case len(prefix) > mostPrefix:
		return fmt.Errorf("WithKeyPrefix was given a prefix of %d bytes, the limit is %d", len(prefix), mostPrefix)
	case strings.ContainsAny(prefix, "{}"):
		return fmt.Errorf("WithKeyPrefix was given %q: a prefix has no braces, because hash tags are a matter of the keys", prefix)
	}
	return nil
}

// withoutPrefix returns names in Redis as callers name them: without a prefix of that length.
func withoutPrefix(names []string, length int) []string {
	if length == 0 {
		return names
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = name[length:]
	}
	return keys
}
