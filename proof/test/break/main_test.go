// Package break_test has the tests of Break: what it takes from whom, who is next, how holders learn of it, and that it is
// done once at most.
package break_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
