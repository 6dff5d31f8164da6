// Package fault_test has the tests of what servers, clocks, networks and machines do to locks that nobody asked them for:
// they stand still, jump, lose keys, close connections, or have no time.
package fault_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
