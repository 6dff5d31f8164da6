package doctor

import (
	"context"
	"fmt"
)

// checkPersistence looks at what a restart keeps, and at whether writes to the disk fail.
func checkPersistence(_ context.Context, p *patient) []Finding {
	return p.everywhere(func(n *node) Finding {
		if f, failed := n.cannotWrite(); failed {
			return f
		}
		aof, err := n.setting("appendonly")
		if err != nil {
			return notSeen(err, "+config|get or +info")
		}
		if aof != "yes" {
			return n.withoutLog()
		}
		fsync, err := n.setting("appendfsync")
		if err != nil {
			return notSeen(err, "+config|get").after("there is an append-only file; how often it is written to the disk")
		}
		return judgeLog(fsync)
	})
}

// cannotWrite reports whether the last attempt to write to the disk failed.
func (n *node) cannotWrite() (Finding, bool) {
	const mend = "look at the server's log, and for space on its disk and the rights of its directory."
	switch {
	case n.info["aof_enabled"] == "1" && n.info["aof_last_write_status"] == "err":
		return bad(Fault, "the append-only file cannot be written", "The server refuses every write until it can: nobody gets a lock, and leases are not renewed.", mend), true
	case n.info["rdb_last_bgsave_status"] == "err" && n.config["stop-writes-on-bgsave-error"] != "no":
		return bad(Fault, "the last snapshot could not be written", "The server refuses every write (MISCONF): nobody gets a lock, and leases are not renewed.", mend), true
	}
	return Finding{}, false
}

const (
	forgets = "Whoever asks first after the restart gets a lock that somebody else still holds."
	uptime  = "make every Client WithMinUptime of at least your longest ttl, so that a server that has just restarted grants nothing; or "
)

// judgeLog judges how often an append-only file is written to the disk.
func judgeLog(fsync string) Finding {
	const mend = uptime + "CONFIG SET appendfsync always, which costs an fsync for each write."
	switch fsync {
	case "always":
		return fine("append-only file with appendfsync always: a restart keeps every lock")
	case "everysec":
		return bad(Warning, "append-only file with appendfsync everysec: a crash of the machine forgets the locks of the last second or two", forgets, mend)
	}
	return bad(Warning, fmt.Sprintf("append-only file with appendfsync %s: a crash of the machine forgets locks of up to half a minute", fsync), forgets, mend)
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
	means, mend := forgets, uptime+"CONFIG SET appendonly yes and appendfsync always, and in redis.conf."
	if n.count("connected_slaves") > 0 {
		means += " If the primary restarts by itself before a replica has taken its place, the replicas forget them as well."
	}
	return bad(Warning, text, means, mend)
}
