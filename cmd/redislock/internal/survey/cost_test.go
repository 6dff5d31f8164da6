package survey_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What each kind of keys costs, in commands and round trips. No command and no pipeline is large.
func TestCost(t *testing.T) {
	t.Parallel()
	const keys = 50_000
	type counts = map[string]int // of 1000 keys
	for _, row := range []struct {
		kinds  []string
		prefix string
		most   counts
		trips  int
	}{
		{[]string{"strings"}, "", counts{"scan": 5, "pttl": 1000}, 6},
		// Of these nearly all have a TTL, so that few are asked for it.
		{[]string{"strings with a TTL"}, "", counts{"scan": 5, "pttl": 60, "type": 60, "getrange": 1000}, 6},
		{[]string{"hashes"}, "", counts{"scan": 5, "pttl": 1000}, 6},
		{[]string{"hashes with a TTL"}, "", counts{"scan": 5, "pttl": 60, "type": 1000}, 6},
		{[]string{"strings", "strings with a TTL", "hashes"}, "", counts{"scan": 5, "pttl": 1000, "type": 60, "getrange": 360}, 6},
		// Each lock is a script, too, which asks for its type and TTL, and for what stands beside it.
		{[]string{"strings", "locks"}, "", counts{
			"scan": 5, "pttl": 1500, "type": 2060, "getrange": 530, "strlen": 500, "evalsha": 500, "get": 500, "zrange": 1000,
		}, 510},
		{[]string{"strings", "hashes"}, "lock:", counts{"scan": 3}, 3},
	} {
		t.Run(strings.Join(append(row.kinds, row.prefix), ","), func(t *testing.T) {
			t.Parallel()
			rdb := redistest.Start(t, redistest.Redis).Client(t)
			crowd(t, rdb, keys, row.kinds)
			conn := open(t, rdb, row.prefix)
			var seen sizes
			conn.RDB.AddHook(check.Around{Send: seen.see})
			locks := 0
			if at := slices.Index(row.kinds, "locks"); at >= 0 {
				locks = keys / len(row.kinds)
			}
			calls := world.Counted(t, rdb, func() {
				if got := len(names(t, conn, survey.Query{})); got != locks {
					t.Errorf("%d locks were found, want %d", got, locks)
				}
			})
			if seen.count > 500 || seen.pipeline > 500 {
				t.Errorf("a SCAN looks at %d keys, and a pipeline has %d commands; others wait for both", seen.count, seen.pipeline)
			}
			// A SCAN may return a key again. There are some round trips at the begin and the end.
			if most := row.trips*keys/1000*102/100 + 20; seen.trips > most {
				t.Errorf("%d round trips, want %d at most", seen.trips, most)
			}
			for _, name := range []string{"scan", "pttl", "type", "getrange", "strlen", "evalsha", "eval", "get", "zrange", "hget", "exists"} {
				// In the first rounds it is not known which questions can be left out.
				atAll := 1
				if name == "eval" {
					atAll = 20 // as many as ask at once, before the server knows the script
				}
				if got, most := calls[name], row.most[name]*keys/1000*102/100; got > most+400 || most == 0 && got > atAll {
					t.Errorf("%d calls of %s, want %d at most", got, name, most)
				}
			}
			if n := world.Info(t, rdb, "Stats", "total_error_replies"); n > keys/1000 {
				t.Errorf("the server counts %d errors", n)
			}
		})
	}
}

// sizes are how large commands and pipelines are.
type sizes struct {
	mu                     sync.Mutex
	count, pipeline, trips int
}

func (s *sizes) see(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
	s.mu.Lock()
	s.trips++
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
