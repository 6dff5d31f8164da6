// Package fence_test has the tests of fencing numbers: that they grow, whatever becomes of clocks, tokens, readers and
// of what is stored.
package fence_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
