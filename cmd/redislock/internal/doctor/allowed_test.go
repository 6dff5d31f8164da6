package doctor

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A user of locks may not look at everything. What it may not see is unknown, and says which right that needs; nothing is
// taken for bad because of it.
func TestOfAUser(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "lock:")
	check.NoError(t, g.Admin.ConfigSet(t.Context(), "maxmemory", "1gb").Err())
	for _, row := range rows(t, "testdata/user.txt") { // INFO says what the policy of eviction is, too
		found := examined(t, g.RDB, row[0], prefixed)
		if len(found) != 1 || found[0].Status != Status(row[1]) || !strings.Contains(found[0].Found, row[2]) {
			t.Errorf("%s: %s, want %s with %q", row[0], list(found), row[1], row[2])
		}
	}
	if found := examined(t, g.RDB, "latency", prefixed); found[0].Status == Unknown {
		t.Errorf("there is TIME where there is no PING: %s", list(found))
	}
	// What INFO says can be looked at without CONFIG, and nothing without either.
	check.NoError(t, g.Admin.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	want(t, examined(t, g.RDB, "eviction"), Fault, "allkeys-lru")
	g.Set(t, "-info")
	for _, name := range []string{"eviction", "memory", "persistence", "server", "version", "replicas"} {
		want(t, examined(t, g.RDB, name), Unknown, "needs +")
	}
}

// The rights of the user, each by itself.
func TestRights(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "lock:")
	found := examined(t, g.RDB, "rights")
	if want(t, found, Warning, "~*"); !strings.Contains(list(found), "--prefix") {
		t.Errorf("it does not say that there is --prefix: %s", list(found))
	}
	g.Set(t, "-evalsha")
	want(t, examined(t, g.RDB, "rights", prefixed), Fault, "evalsha")
	for _, rule := range []string{"+evalsha", "-hset", "-zadd"} {
		g.Set(t, rule)
	}
	found = examined(t, g.RDB, "rights", prefixed)
	want(t, found, Warning, "hset: needed for Options.Fenced")
	want(t, found, Warning, "may not zadd")
	if len(found) != 2 {
		t.Errorf("each right has a finding of its own: %s", list(found))
	}
	for _, rule := range []string{"+hset", "+zadd", "resetkeys", "~lock:*"} {
		g.Set(t, rule)
	}
	want(t, examined(t, g.RDB, "rights", prefixed), Fault, "~redislock:*:{lock:*")
}

// Nothing is changed, and nothing but questions and probes is sent.
func TestChangesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	rdb := server.Client(t)
	ctx := t.Context()
	check.NoError(t, rdb.Set(ctx, "lock:a", token, time.Hour).Err())
	check.NoError(t, rdb.ZAdd(ctx, "redislock:line:{lock:a}", redis.Z{Score: 1, Member: "x"}).Err())
	state := func() string {
		info := rdb.Info(ctx, "persistence").Val()
		return fmt.Sprint(rdb.DBSize(ctx).Val(), regexp.MustCompile(`rdb_changes_since_last_save:\d+`).FindString(info), rdb.ConfigGet(ctx, "*").Val())
	}
	before := state()
	check.NoError(t, rdb.ConfigResetStat(ctx).Err())
	for _, c := range checks() {
		examined(t, rdb, c.name, prefixed)
	}
	stats := rdb.Info(ctx, "commandstats").Val()
	if after := state(); after != before {
		t.Errorf("before: %s\nafter:  %s", before, after)
	}
	allowed := strings.Fields("info config|get ping time hello client|setname client|setinfo client|list dbsize scan type pttl getrange hrandfield zrange " +
		"eval evalsha client|maint_notifications config|resetstat " +
		"get set del exists hdel hget unlink hlen hset mget msetnx pexpire pexpireat publish spublish subscribe wait " +
		"zadd zcard zcount zpopmin zrem zremrangebyscore zrevrangebyscore zscore hmget")
	for _, name := range regexp.MustCompile(`cmdstat_([a-z|_]+):`).FindAllStringSubmatch(stats, -1) {
		if !slices.Contains(allowed, name[1]) {
			t.Errorf("%s is no question", name[1])
		}
	}
}

// The rights that docs/fit.md names are enough for all checks.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	page := string(check.Must[[]byte](t)(os.ReadFile("../../docs/fit.md")))
	_, text, _ := strings.Cut(page, "A user who may run all checks needs, beside")
	text, _, found := strings.Cut(text, ", on a Cluster")
	rules := regexp.MustCompile(`\+[a-z|]+`).FindAllString(text, -1)
	if !found || len(rules) < 8 {
		t.Fatalf("docs/fit.md names %v", rules)
	}
	g := world.NewGuarded(t, "lock:")
	for _, rule := range append(rules, "resetkeys", "~*") {
		g.Set(t, rule)
	}
	for _, c := range checks() {
		for _, f := range examined(t, g.RDB, c.name) {
			if f.Status == Unknown || f.Status == Fault {
				t.Errorf("%+v", f)
			}
		}
	}
}
