// Package lease_test has the tests of a lock while it is held: how long it lasts, how it is renewed, converted and given
// back in parts, and how its holder learns that it is lost.
package lease_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
