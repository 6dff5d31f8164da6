// Package property_test lets bytes decide what is done, and compares what happens with what the documentation says: a
// sequence of operations with a model of it, a reply with the replies that a script can send, and an entry of a line with
// those that a waiter can write.
package property_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
