// Package work is one process of a campaign: clients that obtain locks in every way that the library has, do something, and
// end them, and that write down all of it.
package work

import (
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// Config is what a process is told when it is started, as JSON.
type Config struct {
	Process int
	Seed    uint64
	Target  world.Target
	Load    string   // the name of one of the workloads
	Keys    []string // that all processes of the round fight for
	Clients int      // concurrent callers
	History string   // the path of the file to be written
}

// Settings of time that all workloads share: a round is short, so leases are, too.
const (
	ShortLease = 600 * time.Millisecond
	LongLease  = 10 * time.Minute // ends in no round
	WaitLimit  = 8 * time.Second
	lineWait   = 20 * time.Second // where everybody who waits gets the lock
)
