package matrix_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// stored are what stands under the names that belong to a lock key, as one map: who holds it (by
// value, with the end of the lease), its intent, its fencing numbers and its waiters. Guards are left out.
type stored struct {
	kind   string                   // of the lock key: "", "string" or "zset"
	leases map[string]time.Duration // by value: how long they last
	ttl    time.Duration            // of the lock key
	intent string
	fences map[string]string // by token; '' is the greatest
	line   []string          // entries of waiters
}

// beside is a name beside a lock key without a brace in it.
func beside(purpose, key string) string { return "redislock:" + purpose + ":{" + key + "}" }

// An eye looks at a server past the library.
type eye interface {
	look(key string) stored
}

// miniEye looks into a miniredis.
type miniEye struct{ *miniredis.Miniredis }

func (m miniEye) look(key string) stored {
	v := stored{leases: make(map[string]time.Duration)}
	if m.Exists(key) {
		v.kind, v.ttl = m.Type(key), m.TTL(key)
	}
	switch v.kind {
	case "string":
		value, _ := m.Get(key)
		v.leases[value] = v.ttl
	case "zset":
		members, _ := m.SortedSet(key)
		now := float64(time.Now().UnixMilli())
		for value, score := range members {
			if score > now {
				v.leases[value] = time.Duration(score-now) * time.Millisecond
			}
		}
	}
	intent, fence := beside("intent", key), beside("fence", key)
	if m.Exists(intent) {
		v.intent, _ = m.Get(intent)
	}
	if m.Exists(fence) {
		v.fences = make(map[string]string)
		fields, _ := m.HKeys(fence)
		for _, field := range fields {
			v.fences[field] = m.HGet(fence, field)
		}
	}
	if line := beside("line", key); m.Exists(line) {
		members, _ := m.ZMembers(line)
		v.line = waitersOf(members)
	}
	return v
}

// waitersOf are the entries of a line that are no guards.
func waitersOf(members []string) []string {
	return slices.DeleteFunc(members, func(member string) bool { return !strings.Contains(member, "|") })
}

// holds returns the lease of an owner, and whether it writes; no lease if it has none.
func (v stored) holds(mine func(value string) bool) (lease time.Duration, writes bool) {
	for value, left := range v.leases {
		if mine(value) {
			return left, v.kind == "string"
		}
	}
	return 0, false
}

// values are those of all who have a lease.
func (v stored) values() []string { return slices.Collect(maps.Keys(v.leases)) }

// alone reports whether nobody else has a lease.
func (v stored) alone(mine func(value string) bool) bool {
	for value := range v.leases {
		if !mine(value) {
			return false
		}
	}
	return true
}

// isFree reports whether nothing is left but numbers and guards.
func (v stored) isFree() bool { return v.kind == "" && v.intent == "" && len(v.line) == 0 }

func (v stored) String() string {
	text := fmt.Sprint(v.kind)
	for _, value := range slices.Sorted(maps.Keys(v.leases)) {
		text += fmt.Sprintf(" %s for %v", value, v.leases[value])
	}
	if v.intent != "" {
		text += " intent " + v.intent
	}
	if len(v.line) > 0 {
		text += fmt.Sprintf(" line %q", v.line)
	}
	return strings.TrimSpace(text)
}

// changed says what is not as it was, empty if all is. If grows, a lease that lasts longer and a number
// that is greater are no change; slack is how much time may have passed.
func (v stored) changed(before stored, grows bool, slack time.Duration) string {
	switch {
	case v.kind != before.kind:
		return fmt.Sprintf("it was %q and is %q", before.kind, v.kind)
	case v.intent != before.intent:
		return fmt.Sprintf("its intent was %q and is %q", before.intent, v.intent)
	case !slices.Equal(v.line, before.line):
		return fmt.Sprintf("its line was %q and is %q", before.line, v.line)
	case !slices.Equal(slices.Sorted(maps.Keys(v.leases)), slices.Sorted(maps.Keys(before.leases))):
		return fmt.Sprintf("its owners were %v and are %v", before, v)
	}
	for value, left := range v.leases {
		was := before.leases[value]
		if left < was-slack || left > was+slack && !grows {
			return fmt.Sprintf("the lease of %s was %v and is %v", value, was, left)
		}
	}
	if !maps.Equal(v.fences, before.fences) && !grows {
		return fmt.Sprintf("its numbers were %v and are %v", before.fences, v.fences)
	}
	return ""
}
