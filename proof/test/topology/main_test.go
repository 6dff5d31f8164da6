// Package topology_test has the tests of locks on servers that take each other's places: Cluster, Ring and Sentinel, slots
// that move, replicas that are asked for, and servers that fail, come back or were restarted.
package topology_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
