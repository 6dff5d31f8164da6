package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func init() {
	fixtures["doctor-healthy"] = func(t *testing.T, addr string) {
		t.Helper()
		configure(t, addr, "appendonly", "yes", "appendfsync", "always")
	}
	fixtures["doctor-sick"] = makeSick
}

// configure changes settings of a server.
func configure(t *testing.T, addr string, settings ...string) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	for pair := range slices.Chunk(settings, 2) {
		check.NoError(t, rdb.ConfigSet(t.Context(), pair[0], pair[1]).Err())
	}
	return rdb
}

// makeSick has a server evict locks, and puts a lock without a TTL and one of another library there.
func makeSick(t *testing.T, addr string) {
	t.Helper()
	rdb := configure(t, addr, "maxmemory", "100mb", "maxmemory-policy", "volatile-lru", "timeout", "5")
	check.NoError(t, rdb.Set(t.Context(), "lock:report", "0123456789abcdefABCDEQ|host=web-3", 0).Err())
	check.NoError(t, rdb.Set(t.Context(), "lock:stock:9", "0123456789abcdefABCDEQhost=web-4", time.Hour).Err())
}

// The exit status says whether something is wrong.
func TestDoctorStatus(t *testing.T) {
	t.Parallel()
	healthy, sick := redistest.Start(t, redistest.Redis), redistest.Start(t, redistest.Redis)
	fixtures["doctor-healthy"](t, healthy.Addr())
	makeSick(t, sick.Addr())
	plain := redistest.Shared(t, redistest.Redis)
	for _, tt := range []struct {
		name, addr, args string
		status           int
		out, err         string
	}{
		{"healthy", healthy.Addr(), "--only eviction,persistence,rights --strict", 0, "0 faults, 0 warnings", ""},
		{"warnings", plain.Addr(), "--only persistence", 0, "0 faults, 1 warning", ""},
		{"warnings, strict", plain.Addr(), "--only persistence --strict", 1, "0 faults, 1 warning", ""},
		{"sick", sick.Addr(), "--only eviction,rights", 1, "fault    eviction", ""},
		{"keys", sick.Addr(), "--only lifetimes,libraries --prefix lock:", 1, "lock:report", ""},
		{"keys of a pattern", sick.Addr(), "--only libraries --strict lock:stock:*", 1, "lock:stock:9", ""},
		{"list", "127.0.0.1:1", "--list", 0, "eviction ", ""},
		{"unknown check", "127.0.0.1:1", "--only eviction,flu", 2, "", `unknown check "flu"`},
		{"two patterns", "127.0.0.1:1", "a b", 2, "", "there is one pattern at most, and here are 2"},
		{"no ttl", "127.0.0.1:1", "--ttl 0s", 2, "", "greater than 0"},
		{"watch for less than nothing", "127.0.0.1:1", "--watch -1s", 2, "", "--watch -1s: it is 0 or more"},
		{"no server", "127.0.0.1:1", "", 69, "", "127.0.0.1:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, status := runTool(t, append([]string{"doctor", "--redis", "redis://" + tt.addr}, strings.Fields(tt.args)...)...)
			if status != tt.status || strings.Contains(stdout+stderr, "\x1b") {
				t.Errorf("status %d, want %d\n%s%s", status, tt.status, stdout, stderr)
			}
			wantText(t, "stdout", stdout, tt.out)
			wantText(t, "stderr", stderr, tt.err)
		})
	}
}

// Sentinels say where the servers are, and which of them is away.
func TestDoctorSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t, redistest.Redis, 1, 3)
	args := []string{"doctor", "--redis", "redis://" + s.Sentinels()[0].Addr() + "?master_name=main", "--only", "server,replicas,sentinels,eviction"}
	check.Eventually(t, time.Minute, "the servers are well", func() bool {
		stdout, _, status := runTool(t, args...)
		return status == 0 && strings.Contains(stdout, "1 replica of 1 connected") && strings.Contains(stdout, "noeviction ("+s.Primary().Addr())
	})
	s.Servers()[1].Kill()
	check.Eventually(t, time.Minute, "the replica is missed", func() bool {
		stdout, _, status := runTool(t, args...)
		return status == 1 && strings.Contains(stdout, "0 replicas of 1 connected") && strings.Contains(stdout, "cannot be reached")
	})
}

// All checks together, as JSON: one object a line.
func TestDoctorJSON(t *testing.T) {
	t.Parallel()
	sick := redistest.Start(t, redistest.Valkey)
	makeSick(t, sick.Addr())
	stdout, stderr, status := runTool(t, "doctor", "--json", "--redis", "redis://"+sick.Addr())
	if status != 1 || stderr != "" {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	found := map[string]string{}
	for line := range strings.Lines(stdout) {
		var f struct{ Check, Status, Found, Mend string }
		check.NoError(t, json.Unmarshal([]byte(line), &f))
		found[f.Check] = f.Status
		if f.Found == "" || f.Status == "fault" && f.Mend == "" {
			t.Errorf("incomplete: %s", line)
		}
	}
	listed, _, _ := runTool(t, "doctor", "--list")
	for line := range strings.Lines(listed) {
		if name := strings.Fields(line)[0]; found[name] == "" {
			t.Errorf("no finding of %s", name)
		}
	}
	if found["eviction"] != "fault" || found["lifetimes"] != "fault" || found["rights"] != "ok" {
		t.Errorf("found %v", found)
	}
}

// What is stored cannot move the cursor of a terminal.
func TestDoctorOddKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	rdb := server.Client(t)
	check.NoError(t, rdb.Set(t.Context(), "lock:\x1b[2J\n", "0123456789abcdefABCDEQ", 0).Err())
	stdout, _, status := runTool(t, "doctor", "--redis", "redis://"+server.Addr(), "--only", "lifetimes")
	if status != 1 || strings.Contains(stdout, "\x1b") || !strings.Contains(stdout, `"lock:\x1b[2J\n"`) {
		t.Errorf("status %d: %q", status, stdout)
	}
}
