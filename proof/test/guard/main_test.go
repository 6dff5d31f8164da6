// Package guard_test has the tests of requests that are executed late, and of the guards that keep them from doing harm.
package guard_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
