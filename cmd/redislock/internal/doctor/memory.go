package doctor

import (
	"context"
	"fmt"
	"strings"
)

// checkEviction looks at the policy.
func checkEviction(_ context.Context, p *patient) []Finding {
	return p.everywhere(func(n *node) Finding {
		policy, err := n.setting("maxmemory-policy")
		if err != nil {
			return notSeen(err, "+config|get or +info")
		}
		limit, err := n.number("maxmemory")
		if err != nil {
			return notSeen(err, "+config|get or +info")
		}
		return judgeEviction(policy, limit)
	})
}

// evicts says which keys a policy takes first.
var evicts = map[string]string{
	"volatile": "keys that have a TTL, as every lock has, and no others",
	"allkeys":  "any key, a lock as well as other data",
}

func judgeEviction(policy string, limit int64) Finding {
	const mend = "CONFIG SET maxmemory-policy noeviction, and in redis.conf; or give locks a server of their own. With noeviction a full server refuses new locks, and keeps those that are held."
	kind, how, _ := strings.Cut(policy, "-")
	which, known := evicts[kind]
	switch {
	case policy == "noeviction":
		return fine("maxmemory-policy is noeviction")
	case limit == 0:
		return fine("maxmemory-policy is %s, but there is no maxmemory: nothing is evicted", policy)
	case !known:
		which = "keys"
	case how == "ttl":
		which = "the keys that end soonest: locks before everything else"
	}
	return bad(Fault, fmt.Sprintf("maxmemory-policy is %s, with a maxmemory of %s", policy, bytes(limit)),
		"When the memory is full the server evicts "+which+". Then somebody else gets a lock that is still held.", mend)
}

// bytes as people read them.
func bytes(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// checkMemory looks at how full it is.
func checkMemory(_ context.Context, p *patient) []Finding {
	return p.everywhere(func(n *node) Finding {
		limit, err := n.number("maxmemory")
		switch {
		case err != nil:
			return notSeen(err, "+config|get or +info")
		case limit == 0:
			return fine("there is no maxmemory")
		case n.infoErr != nil:
			return notSeen(n.infoErr, "+info")
		}
		return judgeMemory(n.count("used_memory")-n.count("mem_not_counted_for_evict"), limit)
	})
}

func judgeMemory(used, limit int64) Finding {
	share := 100 * used / limit
	text := fmt.Sprintf("%s of %s are in use (%d %%)", bytes(used), bytes(limit), share)
	const mend = "CONFIG SET maxmemory to more, or find out what fills it: redis-cli --bigkeys."
	switch {
	case share >= 100:
		return bad(Fault, text, "It is full: scripts that take or renew locks are refused with OOM, or keys are evicted.", mend)
	case share >= 90:
		return bad(Warning, text, "When it is full, scripts that take or renew locks are refused with OOM, or keys are evicted.", mend)
	}
	return fine("%s", text)
}
