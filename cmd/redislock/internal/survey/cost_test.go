package survey_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
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
	calls := world.Counted(t, rdb, func() {
		if got := len(names(t, conn, survey.Query{})); got != locks {
			t.Errorf("%d locks were found, want %d", got, locks)
		}
	})
	if seen.count > 500 || seen.pipeline > 500 {
		t.Errorf("a SCAN looks at %d keys, and a pipeline has %d commands; others wait for both", seen.count, seen.pipeline)
	}
	for name, most := range map[string]int{ // of 1000 keys, half of which have a TTL
		"scan": 5, "pttl": 1000 + 2*10, "type": 505 + 5*10, "getrange": 505, "strlen": 10, "evalsha": 10, "eval": 0, "get": 10, "dbsize": 0, "zrange": 2 * 10, "hget": 0, "exists": 0,
	} {
		// A SCAN may return a key again.
		if got := float64(calls[name]) * 1000 / keys; got > float64(most)*1.02+0.1 {
			t.Errorf("%.2f calls of %s for 1000 keys, want %d at most", got, name, most)
		}
	}
	for name, micros := range medians(t, rdb) {
		t.Logf("%s: %.2f for 1000 keys, half of them within %v µs", name, float64(calls[name])*1000/keys, micros)
		// Most take a few µs, and SCAN some 30. On a busy machine single ones take long, and half of them do not.
		if calls[name] >= 500 && micros > 5000 {
			t.Errorf("half of all calls of %s take %v µs", name, micros)
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

// medians returns how many µs half of the calls of each command take, as the server says.
func medians(t *testing.T, rdb *redis.Client) map[string]float64 {
	t.Helper()
	micros := map[string]float64{}
	info := check.Must[map[string]map[string]string](t)(rdb.InfoMap(t.Context(), "latencystats").Result())["Latencystats"]
	for name, text := range info {
		p50, _, _ := strings.Cut(strings.TrimPrefix(text, "p50="), ",")
		micros[strings.TrimPrefix(name, "latency_percentiles_usec_")] = check.Must[float64](t)(strconv.ParseFloat(p50, 64))
	}
	if micros["scan"] == 0 {
		t.Fatalf("the server does not say how long SCAN takes: %v", info)
	}
	return micros
}
