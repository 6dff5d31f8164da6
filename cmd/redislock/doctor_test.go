package main

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// Sentinels say where the servers are, and which of them is away.
func TestDoctorSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t, redistest.Redis, 1, 3)
	says := func(want int, text, other string) func() bool {
		return func() bool {
			stdout, _, status := runTool(t, "doctor", "--redis", "redis://"+s.Sentinels()[0].Addr()+"?master_name=main",
				"--only", "server,replicas,eviction")
			return status == want && strings.Contains(stdout, text) && strings.Contains(stdout, other)
		}
	}
	check.Eventually(t, time.Minute, "the servers are well", says(0, "1 replica of 1 connected", "noeviction ("+s.Primary().Addr()))
	s.Servers()[1].Kill()
	check.Eventually(t, time.Minute, "the replica is missed", says(1, "0 replicas of 1 connected", "cannot be reached"))
}
