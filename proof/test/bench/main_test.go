// Package bench_test measures what locks cost: one alone, many together, and watched. Every benchmark runs against a
// real server, and beside what it measures stands what one would write with go-redis alone: `benchstat -col /by` shows
// both sides of one run.
package bench_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
