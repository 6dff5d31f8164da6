// Package wrapped_test has the tests of what a Client can be given: clients that others have wrapped, those that have
// little, and nothing at all.
package wrapped_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
