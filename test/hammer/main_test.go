// Package hammer_test has what finds more the more it is done: many callers at once. It is the one package of the quick suite that
// make test runs with the race detector.
package hammer_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
