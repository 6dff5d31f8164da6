// Package outcome_test has the tests of what is known, and what is left, when replies are late or lost and contexts end:
// of one request, of several that travel together, and of those of one token.
package outcome_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
