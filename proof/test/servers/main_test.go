// Package servers_test runs one set of scenarios, which has every operation of the library in it, on every server that can
// be found, over every way in which a program reaches a server. What the runs have shown is the table of docs/operating.md.
//
// The servers are those on the PATH, those that `.ci/install newest` has unpacked, and any program that is named in the
// environment: REDISLOCK_SERVERS=Redis=/path/to/redis-server,KeyDB=/path/to/keydb-server. A table that the run contradicts is a
// failure; -update writes the rows of the servers that were run.
package servers_test

import (
	"flag"
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

var update = flag.Bool("update", false, "write what was found into the table of docs/operating.md")

func TestMain(m *testing.M) { redistest.Main(m) }
