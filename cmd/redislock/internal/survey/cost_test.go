package survey_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A survey of many keys is many small commands: docs/tool.md says how many, and no command and no pipeline is large.
func TestCost(t *testing.T) {
	t.Parallel()
	const keys, locks = 100_000, 1000
	server := redistest.Start(t, redistest.Redis)
	rdb := server.Client(t)
	fill(t, rdb, keys, locks)
	conn := open(t, cli.Redis{URL: "redis://" + server.Addr()})
	var seen sizes
	conn.RDB.AddHook(check.Around{Send: seen.see})
	check.NoError(t, rdb.ConfigResetStat(t.Context()).Err())
	if got := len(names(t, conn, survey.Query{})); got != locks {
		t.Errorf("%d locks were found, want %d", got, locks)
	}
	if seen.count > 500 || seen.pipeline > 500 {
		t.Errorf("a SCAN looks at %d keys, and a pipeline has %d commands; others wait for both", seen.count, seen.pipeline)
	}
	stats := commandStats(t, rdb)
	for name, most := range map[string]int{ // of 1000 keys, half of which have a TTL
		"scan": 5, "pttl": 1000 + 2*10, "type": 505 + 5*10, "getrange": 505, "strlen": 10, "evalsha": 10, "eval": 0, "get": 10, "dbsize": 0, "zrange": 2 * 10, "hget": 0, "exists": 0,
	} {
		// A SCAN may return a key again.
		if got := float64(stats[name].calls) * 1000 / keys; got > float64(most)*1.02+0.1 {
			t.Errorf("%.2f calls of %s for 1000 keys, want %d at most", got, name, most)
		}
	}
	for name, stat := range stats {
		t.Logf("%s: %.2f for 1000 keys, half of them within %v µs", name, float64(stat.calls)*1000/keys, stat.micros)
		// Most take a few µs, and SCAN some 30. On a busy machine single ones take long, and half of them do not.
		if stat.calls >= 500 && stat.micros > 5000 {
			t.Errorf("half of all calls of %s take %v µs", name, stat.micros)
		}
	}
}

// sizes are how large commands and pipelines are.
type sizes struct {
	mu              sync.Mutex
	count, pipeline int
}

func (s *sizes) see(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
	s.mu.Lock()
	s.pipeline = max(s.pipeline, len(cmds))
	for _, cmd := range cmds {
		args := cmd.Args()
		if at := slices.Index(args, any("count")); cmd.Name() == "scan" && at > 0 {
			n, _ := strconv.Atoi(fmt.Sprint(args[at+1]))
			s.count = max(s.count, n)
		}
	}
	s.mu.Unlock()
	return send(cmds)
}

type commandStat struct {
	calls  int
	micros float64 // of one call, the median
}

var (
	callsLine  = regexp.MustCompile(`(?m)^cmdstat_([^:]+):calls=(\d+),`)
	medianLine = regexp.MustCompile(`(?m)^latency_percentiles_usec_([^:]+):p50=([\d.]+),`)
)

// commandStats returns what the server says of each command.
func commandStats(t *testing.T, rdb *redis.Client) map[string]commandStat {
	t.Helper()
	stats := map[string]commandStat{}
	info := check.Must[string](t)(rdb.Info(t.Context(), "commandstats", "latencystats").Result())
	for _, m := range callsLine.FindAllStringSubmatch(info, -1) {
		stats[m[1]] = commandStat{calls: check.Must[int](t)(strconv.Atoi(m[2]))}
	}
	for _, m := range medianLine.FindAllStringSubmatch(info, -1) {
		stats[m[1]] = commandStat{stats[m[1]].calls, check.Must[float64](t)(strconv.ParseFloat(m[2], 64))}
	}
	if stats["scan"].micros == 0 {
		t.Fatalf("the server does not say how long SCAN takes:\n%s", info)
	}
	return stats
}
