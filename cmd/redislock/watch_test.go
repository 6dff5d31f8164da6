package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// commandsOf counts what the server has done, without what the test itself asks for.
func commandsOf(t *testing.T, rdb *redis.Client) (n int) {
	t.Helper()
	for name, calls := range world.Calls(t, rdb) {
		if name != "info" && !strings.HasPrefix(name, "config") {
			n += calls
		}
	}
	return n
}

// However many keys there are, the server has no more to do than was said: as its own count says.
func TestWatchBudget(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 1000, 20_000} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			const budget = 5000
			s := redistest.Start(t, redistest.Redis)
			rdb := s.Client(t)
			c := newCrowd(t, rdb)
			keys := make([]string, n)
			for i := range keys {
				keys[i] = fmt.Sprint("k", i)
			}
			for some := range slices.Chunk(keys, 500) {
				c.holds("web-1", some...)
			}
			check.NoError(t, rdb.ConfigResetStat(t.Context()).Err())
			began := time.Now()
			// Not every search ends here, so there may be no table; the looks go on meanwhile.
			p := newProcess(t, "watch", "--redis", "redis://"+s.Addr(), "--every", "200ms", "--budget", strconv.Itoa(budget)).start(t)
			for used := 0; time.Since(began) < 4*time.Second || used < 20; {
				time.Sleep(200 * time.Millisecond) // that is what is measured
				used = commandsOf(t, rdb)
				// Beside the budget: what was saved before the first look, and to connect.
				if allowed := budget*(time.Since(began).Seconds()+1) + 1000; float64(used) > allowed {
					t.Fatalf("%d commands in %v, want %.0f at most", used, time.Since(began), allowed)
				}
				if used < 20 && time.Since(began) > time.Minute {
					t.Fatalf("%d commands: the tool did nothing\n%s", used, p.stderr.String())
				}
				t.Logf("%d keys: %d commands in %v", n, used, time.Since(began))
			}
		})
	}
}
