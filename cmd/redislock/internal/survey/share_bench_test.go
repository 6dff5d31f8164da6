package survey_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// others are the kinds of keys that programs have beside their locks.
var others = map[string]func(ctx context.Context, p redis.Pipeliner, i int, name string){
	"strings": func(ctx context.Context, p redis.Pipeliner, _ int, name string) {
		p.Set(ctx, name, "some data of a program", 0)
	},
	"strings with a TTL": func(ctx context.Context, p redis.Pipeliner, _ int, name string) {
		p.Set(ctx, name, "some data of a program", time.Hour)
	},
	"locks": func(ctx context.Context, p redis.Pipeliner, i int, name string) {
		p.Set(ctx, name, fmt.Sprintf("%021dA|host=web-3 pid=%d prog=shop", i, i), time.Hour)
	},
	"hashes": func(ctx context.Context, p redis.Pipeliner, _ int, name string) { p.HSet(ctx, name, "field", "value") },
	"hashes with a TTL": func(ctx context.Context, p redis.Pipeliner, _ int, name string) {
		p.HSet(ctx, name, "field", "value")
		p.Expire(ctx, name, time.Hour)
	},
}

// mixed are the mixes of them that are measured.
var mixed = [][]string{
	{"strings"},
	{"strings with a TTL"},
	{"hashes"},
	{"hashes with a TTL"},
	{"strings", "strings with a TTL", "hashes"},
	{"strings", "strings with a TTL", "hashes", "hashes with a TTL"},
}

// crowd puts keys of these kinds into a server, of each the same number.
func crowd(tb testing.TB, rdb *redis.Client, n int, kinds []string) {
	tb.Helper()
	ctx := context.Background()
	for from := 0; from < n; from += 1000 {
		p := rdb.Pipeline()
		for i := from; i < min(n, from+1000); i++ {
			others[kinds[i%len(kinds)]](ctx, p, i, fmt.Sprintf("app:user:%d", i))
		}
		if _, err := p.Exec(ctx); err != nil {
			tb.Fatal(err)
		}
	}
}

// used returns how much processor time a server has used, in µs.
func used(tb testing.TB, rdb *redis.Client) (micros float64) {
	tb.Helper()
	all, err := rdb.InfoMap(context.Background(), "cpu").Result()
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, bad := strconv.ParseFloat(all["CPU"][name], 64)
		if err != nil || bad != nil {
			tb.Fatal(all, err, bad)
		}
		micros += 1e6 * seconds
	}
	return micros
}

// BenchmarkShare measures how much of the server's processor a survey takes, by what a bare SCAN takes over the same keys. Both are
// measured in turns, and the medians are compared.
func BenchmarkShare(b *testing.B) {
	const keys, turns = 200_000, 7
	for _, kinds := range mixed {
		for _, prefix := range []string{"", "lock:"} {
			name := strings.Join(kinds, "+")
			if prefix != "" {
				name += "/prefix"
			}
			b.Run(name, func(b *testing.B) {
				rdb := redistest.Start(b, redistest.Redis).Client(b)
				crowd(b, rdb, keys, kinds)
				conn := open(b, rdb, prefix)
				for _, set := range []string{"slowlog-max-len", "slowlog-log-slower-than"} { // µs
					if err := rdb.ConfigSet(b.Context(), set, "1000").Err(); err != nil {
						b.Fatal(err)
					}
				}
				var bare, ours []float64
				for b.Loop() {
					for range turns {
						from := used(b, rdb)
						scanAll(b, rdb)
						scanned := used(b, rdb)
						err := survey.Locks(b.Context(), conn, survey.Query{}, func([]redislock.KeyState) error { return nil })
						if err != nil {
							b.Fatal(err)
						}
						bare, ours = append(bare, scanned-from), append(ours, used(b, rdb)-scanned)
					}
				}
				slices.Sort(bare)
				slices.Sort(ours)
				slow, err := rdb.Do(b.Context(), "slowlog", "len").Int()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(slow), "commands-above-1ms")
				b.ReportMetric(bare[len(bare)/2]/keys, "µs/key-bare")
				b.ReportMetric(ours[len(ours)/2]/bare[len(bare)/2], "times-bare")
			})
		}
	}
}

// scanAll goes through all names, with the COUNT that a survey has.
func scanAll(tb testing.TB, rdb *redis.Client) {
	tb.Helper()
	var cursor uint64
	for {
		var err error
		if _, cursor, err = rdb.Scan(context.Background(), cursor, "", 200).Result(); err != nil {
			tb.Fatal(err)
		}
		if cursor == 0 {
			return
		}
	}
}
