// Package api_test has the tests of what callers give and get: keys and limits, strategies, intents, hooks and logs,
// Inspect, and the rights that the Redis user needs.
package api_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
