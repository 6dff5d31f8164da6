// Package cost_test holds what operations cost where that does not depend on the machine: how many commands their
// scripts run on the server, and how much the client allocates. Run with -v it is a report.
package cost_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
