package doctor

import (
	"context"
	"fmt"
	"strings"
)

// evicts says which keys a policy takes first.
var evicts = map[string]string{
	"volatile": "keys that have a TTL, as every lock has, and no others",
	"allkeys":  "any key, a lock as well as other data",
}

// checkEviction looks at the policy.
func checkEviction(_ context.Context, e *exam) Finding {
	const mend = "CONFIG SET maxmemory-policy noeviction, and in redis.conf; or give locks a server of their own. With noeviction a full server refuses new locks, and keeps those that are held."
	policy, limit := e.setting("maxmemory-policy", byEither), e.number("maxmemory", byEither)
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
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := int64(1) << (30 - 10*i); n >= size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(size), unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// checkMemory looks at how full it is.
func checkMemory(_ context.Context, e *exam) Finding {
	limit := e.number("maxmemory", byEither)
	if limit == 0 {
		return fine("there is no maxmemory")
	}
	e.answered(e.infoErr, byInfo)
	used := e.count("used_memory") - e.count("mem_not_counted_for_evict")
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

const (
	forgets = "Whoever asks first after the restart gets a lock that somebody else still holds."
	uptime  = "make every Client WithMinUptime of at least your longest ttl, so that a server that has just restarted grants nothing; or "
)

// checkPersistence looks at whether writes to the disk fail, and at what a restart keeps.
func checkPersistence(_ context.Context, e *exam) Finding {
	const look = "look at the server's log, and for space on its disk and the rights of its directory."
	switch {
	case e.info["aof_enabled"] == "1" && e.info["aof_last_write_status"] == "err":
		return bad(Fault, "the append-only file cannot be written", "The server refuses every write until it can: nobody gets a lock, and leases are not renewed.", look)
	case e.info["rdb_last_bgsave_status"] == "err" && e.config["stop-writes-on-bgsave-error"] != "no":
		return bad(Fault, "the last snapshot could not be written", "The server refuses every write (MISCONF): nobody gets a lock, and leases are not renewed.", look)
	case e.setting("appendonly", byEither) != "yes":
		return e.withoutLog()
	}
	const mend = uptime + "CONFIG SET appendfsync always, which costs an fsync for each write."
	e.known = "there is an append-only file; how often it is written to the disk"
	switch fsync := e.setting("appendfsync", byConfig); fsync {
	case "always":
		return fine("append-only file with appendfsync always: a restart keeps every lock")
	case "everysec":
		return bad(Warning, "append-only file with appendfsync everysec: a crash of the machine forgets the locks of the last second or two", forgets, mend)
	default:
		return bad(Warning, fmt.Sprintf("append-only file with appendfsync %s: a crash of the machine forgets locks of up to half a minute", fsync), forgets, mend)
	}
}

// withoutLog judges a server without an append-only file.
func (n *node) withoutLog() Finding {
	snapshots, err := n.setting("save")
	text := "no append-only file, only snapshots: a restart forgets the locks since the last one"
	switch {
	case err != nil:
		text = "no append-only file: a restart forgets locks"
	case snapshots == "":
		text = "no append-only file and no snapshots: a restart forgets every lock"
	}
	means := forgets
	if n.count("connected_slaves") > 0 {
		means += " If the primary restarts by itself before a replica has taken its place, the replicas forget them as well."
	}
	return bad(Warning, text, means, uptime+"CONFIG SET appendonly yes and appendfsync always, and in redis.conf.")
}
