package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// fixtures bring a new server into the state that a block of the page shows, by the name in front of the block.
var fixtures = map[string]func(*crowd){
	"empty": func(*crowd) {},
	"tune":  func(*crowd) {},
	"run": func(c *crowd) {
		c.hold(wish{who: "host=web-3 pid=812 prog=report user=cron since=2026-03-01T09:26:53Z", keys: []string{"nightly"}, ttl: 30 * time.Minute})
	},
	"look":  plantOrders,
	"held":  func(c *crowd) { holdAndWait(c, "orders:17") },
	"watch": watchScene,
	"tree": func(c *crowd) {
		c.holds("web-3", "orders:17")
		c.holds("web-4", "stock:9")
		c.queues("web-4", "orders:17")
		c.queues("web-5", "orders:17")
		c.queue(wish{who: "web-6", keys: []string{"stock:9"}, read: true})
	},
	"tree-deadlock": func(c *crowd) {
		c.deadlock("request-31", "request-40")
		c.queues("web-5", "stock:9")
	},
	"tree-possible":  func(c *crowd) { c.deadlock("web-3", "web-4") },
	"doctor-healthy": func(c *crowd) { c.configure("appendonly", "yes", "appendfsync", "always") },
	"doctor-sick": func(c *crowd) {
		c.configure("maxmemory", "100mb", "maxmemory-policy", "volatile-lru")
		c.set("lock:report", "0123456789abcdefABCDEQ|host=web-3", 0)         // without a TTL
		c.set("lock:stock:9", "0123456789abcdefABCDEQhost=web-4", time.Hour) // of another library
	},
}

// deadlock is two who wait for each other.
func (c *crowd) deadlock(a, b string) {
	c.t.Helper()
	c.holds(a, "orders:17")
	c.holds(b, "stock:9")
	c.queues(a, "stock:9")
	c.queues(b, "orders:17")
}

// configure changes settings of the server.
func (c *crowd) configure(settings ...any) {
	c.t.Helper()
	check.NoError(c.t, c.rdb.Do(c.ctx, append([]any{"config", "set"}, settings...)...).Err())
}

// set stores data.
func (c *crowd) set(key, value string, ttl time.Duration) {
	c.t.Helper()
	check.NoError(c.t, c.rdb.Set(c.ctx, key, value, ttl).Err())
}

// plantOrders locks some keys behind the prefix "lock:": one is held and waited for, one is read, one is left, and one is data.
func plantOrders(c *crowd) {
	c.t.Helper()
	fenced := redislock.Options{Fenced: true}
	c.hold(wish{Options: fenced, who: "host=web-3 pid=812 prog=shop", keys: []string{"lock:orders:17"}, ttl: 30 * time.Minute})
	c.hold(wish{who: "host=web-3 pid=812 prog=shop", keys: []string{"lock:prices"}, read: true})
	c.hold(wish{who: "host=web-5 pid=97 prog=shop", keys: []string{"lock:prices"}, read: true, ttl: 2 * time.Hour})
	left := c.hold(wish{Options: fenced, who: "host=job-1 pid=4 prog=cron", keys: []string{"lock:report:daily"}})
	check.NoError(c.t, left.Leave(c.ctx, 12*time.Hour))
	c.plant("host=web-4 pid=31 prog=shop", "lock:orders:17", 0, time.Hour)
	c.plant("host=web-1 pid=50 prog=shop", "lock:orders:17", 0, -time.Hour)
	check.NoError(c.t, c.rdb.HSet(c.ctx, "lock:stock", "9", "17").Err())
	c.set("session:1", "some data", time.Hour)
}

// plant puts somebody into the line of a key, who came there some time ago, and asks for some time from now.
func (c *crowd) plant(who, key string, ago, alive time.Duration) {
	c.t.Helper()
	line, now := slot.Beside("line", key), time.Now()
	entry := fmt.Sprintf("%s|%d|wp--|30000|1|0|0|%s|%s", owners.NewID(), now.Add(alive).UnixMilli(), owners.NewToken(), who)
	check.NoError(c.t, c.rdb.ZAdd(c.ctx, line, redis.Z{Score: float64(now.Add(-ago).UnixMicro()), Member: entry}).Err())
	check.NoError(c.t, c.rdb.Expire(c.ctx, line, time.Hour).Err())
}

// holdAndWait has one process hold a key that hears of a Break, and another one wait for it in line.
func holdAndWait(c *crowd, key string) (held context.Context, next <-chan *redislock.Lock) {
	c.t.Helper()
	lock := c.hold(wish{Options: redislock.Options{Watchdog: true}, who: "host=web-3 pid=812 prog=shop", keys: []string{key}, ttl: time.Minute})
	held = lock.Context(c.ctx)
	next = c.queues("host=web-4 pid=97 prog=shop", key)
	check.Eventually(c.t, soon, "the holder hears", func() bool { return hears(c.t, c.rdb) })
	return held, next
}

// hears reports whether anybody hears of a Break.
func hears(t *testing.T, rdb redis.UniversalClient) bool {
	t.Helper()
	return check.Must[map[string]int64](t)(rdb.PubSubNumSub(t.Context(), "redislock:break").Result())["redislock:break"] > 0
}

// watchScene has a lock that is renewed, for which others have waited for long, and one that two read.
func watchScene(c *crowd) {
	c.t.Helper()
	c.hold(wish{Options: redislock.Options{Watchdog: true}, who: "host=web-3 pid=812", keys: []string{"orders:17"}, ttl: 30 * time.Second})
	for _, pid := range []int{98, 99} { // of one width: whose lease ends first is by chance
		c.hold(wish{who: fmt.Sprintf("host=web-1 pid=%d", pid), keys: []string{"stock:9"}, read: true, ttl: 10 * time.Minute})
	}
	waitForLong(c, "orders:17")
}

// waitForLong has two wait in the line of a key that is held, the first for four minutes, and a third who has died.
func waitForLong(c *crowd, key string) {
	c.t.Helper()
	for i, alive := range []time.Duration{time.Hour, time.Hour, -time.Minute} {
		c.plant("host=web-2 pid=5", key, time.Duration(4-i)*time.Minute, alive)
	}
}
