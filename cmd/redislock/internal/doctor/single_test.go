package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) {
	cli.Reachable = time.Minute
	redistest.Main(m)
}

// defaults are the options without any flag.
func defaults() options { return options{replicas: -1, ttl: 10 * time.Second, keys: 100_000} }

// examined runs one check.
func examined(t *testing.T, rdb redis.UniversalClient, name string, mods ...func(*patient)) []Finding {
	t.Helper()
	return examinedAt(t, rdb, "redis://127.0.0.1", name, mods...)
}

func examinedAt(t *testing.T, rdb redis.UniversalClient, where, name string, mods ...func(*patient)) []Finding {
	t.Helper()
	conn := &cli.Conn{RDB: rdb}
	p := check.Must[*patient](t)(newPatient(t.Context(), conn, where, defaults()))
	defer p.close()
	p.screen = cli.NewScreen(t.Output())
	for _, mod := range mods {
		mod(p)
	}
	todo := check.Must[[]Check](t)(chosen(name))
	return todo[0].examine(t.Context(), p)
}

// prefixed and elsewhere are what a user says whose locks begin so.
func prefixed(p *patient)  { p.conn.Prefix = "lock:" }
func elsewhere(p *patient) { p.conn.Prefix = "other:" }

// want checks that there is a finding of this status with this text, and none that is worse.
func want(t *testing.T, found []Finding, status Status, text string) {
	t.Helper()
	if !has(found, status, text) {
		t.Errorf("no %s with %q in:\n%s", status, text, list(found))
	}
}

func has(found []Finding, status Status, text string) bool {
	is := false
	for _, f := range found {
		is = is || f.Status == status && strings.Contains(f.Found+"\n"+f.Means, text)
		if status == OK && f.Status != OK || status == Warning && f.Status == Fault {
			return false
		}
		if f.Status == Fault && (f.Means == "" || f.Mend == "") && f.Check != "rights" {
			return false // it does not say how to mend it
		}
	}
	return is
}

func list(found []Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%+v\n", f)
	}
	return b.String()
}

// Each check of one server, with a configuration that fails it and one that passes.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		check  string
		args   string // of the server; "EMPTY" is an empty word
		status Status
		text   string
	}{
		{"eviction", "", OK, "noeviction"},
		{"eviction", "--maxmemory-policy allkeys-lru", OK, "no maxmemory"},
		{"eviction", "--maxmemory 100mb --maxmemory-policy volatile-lru", Fault, "as every lock has"},
		{"eviction", "--maxmemory 100mb --maxmemory-policy volatile-ttl", Fault, "locks before everything else"},
		{"eviction", "--maxmemory 100mb --maxmemory-policy allkeys-random", Fault, "any key"},
		{"memory", "", OK, "no maxmemory"},
		{"memory", "--maxmemory 1gb", OK, "of 1.0 GiB"},
		{"memory", "--maxmemory 500kb", Fault, "OOM"},
		{"persistence", "", Warning, "forgets every lock"},
		{"persistence", "--save 3600 1", Warning, "since the last one"},
		{"persistence", "--appendonly yes", Warning, "last second"},
		{"persistence", "--appendonly yes --appendfsync no", Warning, "half a minute"},
		{"persistence", "--appendonly yes --appendfsync always", OK, "keeps every lock"},
		{"connections", "", OK, "of 10000 connections"},
		{"connections", "--timeout 5", Warning, "timeout"},
		{"connections", "--tcp-keepalive 0", Warning, "tcp-keepalive"},
		{"buffers", "", OK, "8.0 MiB"},
		{"buffers", "--client-output-buffer-limit pubsub 0 0 0", OK, "no limit"},
		{"buffers", "--client-output-buffer-limit pubsub 1mb 100kb 60", Warning, "100.0 KiB"},
		{"scripts", "--loglevel verbose", OK, "no script"}, // a server of its own, where nobody runs scripts,
		{"scripts", "--busy-reply-threshold 50", Warning, "50 ms"},
		{"commands", "", OK, "every command"},
		{"commands", "--rename-command EVALSHA EMPTY", Fault, "evalsha"},
		{"min-replicas", "", OK, "is off"},
		{"min-replicas", "--min-replicas-to-write 1", Fault, "NOREPLICAS"},
		{"server", "", OK, "Redis"},
		{"server", "--replicaof 127.0.0.1 1", Fault, "READONLY"},
		{"replicas", "", OK, "no replicas"},
		{"sentinels", "", OK, "no Sentinel"},
		{"slots", "", OK, "no Cluster"},
		{"clocks", "", OK, "within a second"},
		{"rights", "", OK, "everything"},
		{"lines", "", OK, "no waiters that are gone"},
		{"libraries", "", OK, "no name"},
		{"lifetimes", "", OK, "every key"},
	} {
		t.Run(tt.check+" "+tt.args, func(t *testing.T) {
			t.Parallel()
			b := redistest.Shared(t, redistest.Redis)
			if tt.args != "" {
				b = redistest.Start(t, redistest.Redis, words(tt.args)...)
			}
			want(t, examined(t, b.Client(t), tt.check), tt.status, tt.text)
		})
	}
}

func words(text string) []string {
	all := strings.Fields(text)
	for i, word := range all {
		if word == "EMPTY" {
			all[i] = ""
		}
	}
	return all
}

// A new Valkey has the warnings of a server that nobody has configured, and no others.
func TestHealthyValkey(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Valkey).Client(t)
	for _, c := range checks() {
		if c.name == "latency" || c.name == "scripts" { // the machine may be busy
			continue
		}
		for _, f := range examined(t, rdb, c.name) {
			if f.Status != OK && (c.name != "persistence" || f.Status != Warning) {
				t.Errorf("%+v", f)
			}
		}
	}
	want(t, examined(t, rdb, "server"), OK, "Valkey 8")
}

// A server that is far away, or slow.
func TestLatency(t *testing.T) {
	t.Parallel()
	relay := redistest.NewRelay(t, redistest.Shared(t, redistest.Redis).Addr())
	relay.DelayReplies(60 * time.Millisecond)
	want(t, examined(t, relay.Client(t), "latency"), Warning, "PING")
	relay.DelayReplies(0)
	check.Eventually(t, time.Minute, "answers are quick", func() bool {
		return has(examined(t, relay.Client(t), "latency"), OK, "a script")
	})
}

// A script that has held the server up is in the slow log.
func TestSlowScript(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	want(t, examined(t, rdb, "scripts"), OK, "no script")
	turns := 1_000_000
	check.Eventually(t, time.Minute, "a script that is slow is found", func() bool {
		turns *= 2
		check.NoError(t, rdb.Eval(t.Context(), "local n = 0 for i = 1, ARGV[1] do n = n + i end return n", nil, turns).Err())
		return has(examined(t, rdb, "scripts"), Warning, "1 script took")
	})
}
