package work

import (
	"fmt"
	"slices"

	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// Keys returns six keys that the processes of a round can fight for. Where the keys of a set have to share a hash tag there
// are two tags.
func Keys(t world.Topology) []string {
	if isSharded(t) {
		return []string{"lock:{3}:a", "lock:{3}:b", "lock:{3}:c", "lock:{4}:a", "lock:{4}:b", "lock:{4}:c"}
	}
	return []string{"lock:a", "lock:b", "lock:c", "lock:d", "lock:e", "lock:f"}
}

// groups puts keys together that can be one set.
func groups(t world.Topology, keys []string) [][]string {
	if !isSharded(t) {
		return [][]string{keys}
	}
	var all [][]string
	for _, key := range keys {
		same := func(group []string) bool { return slot.Tag(group[0]) == slot.Tag(key) }
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i] = append(all[i], key)
		} else {
			all = append(all, []string{key})
		}
	}
	return all
}

// ownKey is a key in the place of another one that is for one caller alone.
func ownKey(key string, process, caller int) string {
	return fmt.Sprintf("%s:own:%d:%d", key, process, caller)
}
