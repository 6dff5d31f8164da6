// Package line_test has the tests of waiters that stand in line (Options.Queue): who comes next, how it learns of it, and
// what happens when messages, waiters, holders or servers are lost.
package line_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
