package multi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A Part is a set of keys that its Client can take in one step. On a Cluster all of them are in one
// slot; on a Ring all have one hash tag; on a single server they may be any keys.
type Part struct {
	// Client takes the keys.
	Client *redislock.Client

	// Place names the server, or the Cluster, where the keys of Client are. Parts are taken in the
	// order of their places, compared as strings, and within a place by slot. Every process has to
	// use the same name for the same server: two processes that disagree can wait for each other
	// until ctx ends. Place may be empty if all parts have the same Client. Otherwise every Client
	// has a place of its own. Clients with different prefixes ([redislock.WithKeyPrefix]) may have two
	// places at one server if neither prefix begins with the other, so that they have no key in common.
	Place string

	redislock.Set // the keys
}

// obtain takes the part under a token; if that is empty, under one of its own.
func (p *Part) obtain(ctx context.Context, token string, ttl time.Duration, opt *redislock.Options) (*redislock.Lock, error) {
	if token == "" {
		return p.Client.ObtainSet(ctx, p.Set, ttl, opt)
	}
	return p.Client.As(token).ObtainSet(ctx, p.Set, ttl, opt)
}

// first returns the key that stands for the part, as its caller names it.
func (p *Part) first() string {
	if len(p.Write) > 0 {
		return p.Write[0]
	}
	return p.Read[0]
}

// tag returns the hash tag by which the part is sorted: the tag of its first key in Redis, behind the prefix of the
// Client. A key without braces is its own tag. So a prefix changes its tag and its slot.
func (p *Part) tag() string { return slot.Tag(p.Client.RedisKey(p.first())) }

// BySlot splits keys that a Client of a Cluster is to lock into parts, one for each slot, in the order of the
// slots. The slots are of the names that the keys have in Redis: see [redislock.Client.RedisKey]. Within a
// part the keys are in the given order, without repetitions. A key in both lists is a write key. The parts
// have no Place: set it on each of them if the lock has parts of other Clients, too.
//
// For a Client of a single server BySlot makes the same parts, and [Obtain] takes them as one.
func BySlot(client *redislock.Client, set redislock.Set) []Part {
	type at struct {
		home uint16 // the slot
		part Part
	}
	var parts []at
	index := make(map[uint16]int)
	seen := make(map[string]bool, len(set.Write)+len(set.Read))
	split := func(keys []string, list func(*Part) *[]string) {
		for _, key := range keys {
			if seen[key] {
				continue
			}
			seen[key] = true
			home := slot.Of(client.RedisKey(key))
			i, ok := index[home]
			if !ok {
				i = len(parts)
				index[home] = i
				parts = append(parts, at{home, Part{Client: client}})
			}
			to := list(&parts[i].part)
			*to = append(*to, key)
		}
	}
	split(set.Write, func(p *Part) *[]string { return &p.Write })
	split(set.Read, func(p *Part) *[]string { return &p.Read })
	slices.SortFunc(parts, func(a, b at) int { return cmp.Compare(a.home, b.home) })
	out := make([]Part, len(parts))
	for i, p := range parts {
		out[i] = p.part
	}
	return out
}

// arrange copies the parts into the order in which they are taken, and merges parts that their
// Client can take as one. It sends nothing.
//
// All keys of one step of the order have to be in one part. Say that one caller takes the keys a and
// b of a server in two steps, and another stands in line for both as one set. Then the first could
// hold a and stand behind the second for b, while the second waits for a.
func arrange(given []Part) ([]Part, error) {
	if len(given) == 0 {
		return nil, invalid("keys", "there are no parts")
	}
	if err := errors.Join(checkClients(given), checkKeys(given)); err != nil {
		return nil, err
	}
	parts := make([]Part, len(given))
	for i, p := range given {
		p.Write, p.Read = slices.Clone(p.Write), slices.Clone(p.Read)
		parts[i] = p
	}
	slices.SortFunc(parts, compare)
	parts = merge(parts)
	if len(parts) == 1 {
		return parts, nil // the Obtain of the one part checks it as well
	}
	for i := range parts {
		p := &parts[i]
		if len(p.Write)+len(p.Read) == 1 && p.first() != "" {
			continue
		}
		if err := possible(p.Client, slices.Concat(p.Write, p.Read)); err != nil {
			return nil, fmt.Errorf("%s: %w", name(parts, i), err)
		}
	}
	return parts, nil
}

// merge makes one part of neighbours that their Client can take as one. If a Client cannot take two
// slots as one, it cannot take any two.
func merge(parts []Part) []Part {
	merged := parts[:1]
	var splits *redislock.Client // a Client that is known not to take two slots
	for _, p := range parts[1:] {
		last := &merged[len(merged)-1]
		a, b := last.tag(), p.tag()
		together := last.Client == p.Client
		if across := together && a != b && slot.Of(a) != slot.Of(b); across && splits == p.Client {
			together = false
		} else if together && a != b {
			together = possible(p.Client, []string{last.first(), p.first()}) == nil
			if across && !together {
				splits = p.Client
			}
		}
		if together {
			last.Write, last.Read = append(last.Write, p.Write...), append(last.Read, p.Read...)
			continue
		}
		merged = append(merged, p)
	}
	return merged
}

// compare is the order of the parts. Two hash tags of one slot differ on a Ring only.
func compare(a, b Part) int {
	x, y := a.tag(), b.tag()
	return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(slot.Of(x), slot.Of(y)), cmp.Compare(x, y))
}

// checkClients checks that places and Clients belong together.
func checkClients(parts []Part) error {
	places := make(map[*redislock.Client]string)
	clients := make(map[string]*redislock.Client)
	for i, p := range parts {
		if p.Client == nil {
			return fmt.Errorf("parts[%d] has no Client", i)
		}
		if place, ok := places[p.Client]; ok && place != p.Place {
			return fmt.Errorf("parts[%d]: its Client is at the places %q and %q", i, place, p.Place)
		}
		if client, ok := clients[p.Place]; ok && client != p.Client {
			return fmt.Errorf("parts[%d]: the place %q has two Clients: each needs a Place of its own, "+
				"the same in every process", i, p.Place)
		}
		places[p.Client], clients[p.Place] = p.Place, p.Client
	}
	if _, unnamed := clients[""]; unnamed && len(places) > 1 {
		return errors.New("with several Clients every part needs a Place")
	}
	return nil
}

// checkKeys checks that every part has keys, and that no other part of its Client has them.
func checkKeys(parts []Part) error {
	type of struct {
		client *redislock.Client
		key    string
	}
	seen := make(map[of]int)
	for i, p := range parts {
		if len(p.Write)+len(p.Read) == 0 {
			return invalid("keys", "parts[%d] has none", i)
		}
		for _, keys := range [][]string{p.Write, p.Read} {
			for _, key := range keys {
				if other, ok := seen[of{p.Client, key}]; ok && other != i {
					return invalid("keys", "%q is in parts[%d] and in parts[%d]", key, other, i)
				}
				seen[of{p.Client, key}] = i
			}
		}
	}
	return nil
}

// possible reports why a Client cannot take the keys as one set, without sending anything. A lock that
// was attached and never refreshed has no lease to begin anew, so Upgrade complains only of that, or
// of the keys.
func possible(client *redislock.Client, keys []string) error {
	err := client.Attach(keys, "nobody").Upgrade(context.Background())
	if errors.Is(err, &redislock.InvalidError{Argument: "ttl"}) {
		return nil
	}
	if why := errors.Unwrap(err); why != nil {
		return why // nobody has asked for an upgrade
	}
	return err
}

// name says in errors which part it is.
func name(parts []Part, i int) string {
	p := &parts[i]
	text := fmt.Sprintf("%q", p.first())
	if more := len(p.Write) + len(p.Read) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if p.Place != "" {
		text += fmt.Sprintf(" at %q", p.Place)
	}
	return fmt.Sprintf("part %d of %d, %s", i+1, len(parts), text)
}

func invalid(argument, format string, args ...any) error {
	return &redislock.InvalidError{Argument: argument, Reason: fmt.Sprintf(format, args...)}
}
