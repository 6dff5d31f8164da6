package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
)

func init() {
	fixtures["look"] = plantOrders
}

// plantOrders locks some keys behind the prefix "lock:": one is held and waited for, one is read, one is left, and one is data.
func plantOrders(t *testing.T, addr string) {
	t.Helper()
	ctx := t.Context()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	client := redislock.New(rdb, redislock.WithKeyPrefix("lock:"))
	t.Cleanup(func() {
		client.Close()
		_ = rdb.Close()
	})
	obtain := func(write, read []string, ttl time.Duration, metadata string) *redislock.Lock {
		opt := redislock.Options{Metadata: metadata, Fenced: write != nil}
		return check.Must[*redislock.Lock](t)(client.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, ttl, &opt))
	}
	obtain([]string{"orders:17"}, nil, 30*time.Minute, "host=web-3 pid=812 prog=shop")
	obtain(nil, []string{"prices"}, time.Hour, "host=web-3 pid=812 prog=shop")
	obtain(nil, []string{"prices"}, 2*time.Hour, "host=web-5 pid=97 prog=shop")
	check.NoError(t, obtain([]string{"report:daily"}, nil, time.Hour, "host=job-1 pid=4 prog=cron").Leave(ctx, 12*time.Hour))
	waitInLine(t, rdb, "lock:orders:17", "host=web-4 pid=31 prog=shop", time.Hour)
	waitInLine(t, rdb, "lock:orders:17", "host=web-1 pid=50 prog=shop", -time.Hour)
	check.NoError(t, rdb.HSet(ctx, "lock:stock", "9", "17").Err())
	check.NoError(t, rdb.Set(ctx, "session:1", "some data", time.Hour).Err())
}

// waitInLine puts somebody into the line of a key, who asks for so long.
func waitInLine(t *testing.T, rdb *redis.Client, name, metadata string, alive time.Duration) {
	t.Helper()
	line, now := slot.Beside("line", name), time.Now()
	entry := fmt.Sprintf("%s|%d|wp--|30000|1|0|0|%s|%s", owners.NewID(), now.Add(alive).UnixMilli(), owners.NewToken(), metadata)
	check.NoError(t, rdb.ZAdd(t.Context(), line, redis.Z{Score: float64(now.UnixMicro()), Member: entry}).Err())
	check.NoError(t, rdb.Expire(t.Context(), line, time.Hour).Err())
}

// objects reads what --json has written.
func objects(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, o)
	}
	return all
}

// fieldsOf returns the words of one line of a table.
func fieldsOf(t *testing.T, table, key string) []string {
	t.Helper()
	for line := range strings.Lines(table) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == key {
			return words
		}
	}
	t.Fatalf("no line about %s in\n%s", key, table)
	return nil
}

func TestShow(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	plantOrders(t, server.Addr())
	show := func(args ...string) (stdout, stderr string, status int) {
		return runTool(t, append([]string{"show", "--redis", "redis://" + server.Addr(), "--prefix", "lock:"}, args...)...)
	}
	stdout, stderr, status := show("orders:17", "prices", "report:daily", "nothing")
	if status != 0 || stderr != "" {
		t.Errorf("exit status %d: %s", status, stderr)
	}
	for _, want := range []string{
		"orders:17\n  in Redis  lock:orders:17\n  mode      write, 29m", "\n  holder    host=web-3 pid=812 prog=shop (since ",
		"\n  line      1. to write: host=web-4 pid=31 prog=shop (since ", "\n            2. to write: host=web-1 ", ", gone)\n",
		"\n  fence     1", "\nprices\n", "  mode      read, 1h59m left\n  holder    host=web-3", "(kept after its work, ", "nothing\n  in Redis  lock:nothing\n  mode      free\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	stdout, stderr, status = show("stock", "nothing")
	if status != 65 || !strings.Contains(stdout, "foreign: a hash without a TTL") || !strings.Contains(stdout, "nothing") {
		t.Errorf("exit status %d: %s", status, stdout)
	}
	wantText(t, "stderr", stderr, "redislock show: stock is foreign: it holds something that is no lock\n")
	stdout, _, status = show("--json", "stock", "orders:17")
	all := objects(t, stdout)
	if status != 65 || len(all) != 2 || all[0]["mode"] != "foreign" || all[0]["type"] != "hash" || all[0]["ttl_ms"] != nil || all[1]["waiting"] != 1.0 {
		t.Errorf("exit status %d: %v", status, all)
	}
}

func TestLookUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"ls --sort size":    `--sort is key, ttl, waiting or since, not "size"`,
		"ls a b":            "there is one pattern at most, and here are 2; quote it",
		"show":              "no key is given",
		"show --prefix {a}": "no key is given",
	} {
		_, stderr, status := runTool(t, append(strings.Fields(args), "--redis", "redis://127.0.0.1:1")...)
		if status != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit status %d: %s", args, status, stderr)
		}
	}
	_, stderr, status := runTool(t, "show", "--redis", "redis://127.0.0.1:1", "a", "")
	if status != 2 || !strings.Contains(stderr, "key 2 is empty") {
		t.Errorf("exit status %d: %s", status, stderr)
	}
}
