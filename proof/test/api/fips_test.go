package api_test

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// DESIGN section 11: panic at start under GODEBUG=fips140=only (SHA-1 in package init).
func TestFIPSOnly(t *testing.T) {
	t.Parallel()
	redistest.Need(t, "redis-server")
	out, err := redistest.Rerun(t, []string{"GODEBUG=fips140=only"}, "-test.run=^TestFIPSCycle$", "-test.v")
	if err != nil || !strings.Contains(string(out), "--- PASS: TestFIPSCycle") {
		t.Errorf("under fips140=only: %v\n%s", err, out)
	}
}

// Without a server TestFIPSOnly is skipped: its child is, and that is not what it looks for.
func TestFIPSOnlyWithoutServer(t *testing.T) {
	t.Parallel()
	out, err := redistest.Rerun(t, []string{"PATH=", "CI="}, "-test.run=^TestFIPSOnly$", "-test.v")
	if err != nil || !strings.Contains(string(out), "--- SKIP: TestFIPSOnly") {
		t.Errorf("without a server: %v\n%s", err, out)
	}
}

// TestFIPSCycle runs every script by name and by source. What it is for is its run by TestFIPSOnly.
func TestFIPSCycle(t *testing.T) {
	t.Parallel()
	client := redislock.New(redistest.Start(t, redistest.Redis).Client(t))
	t.Cleanup(client.Close)
	for range 2 {
		check.NoError(t, world.Cycle(t.Context(), client, t.Name()))
	}
}
