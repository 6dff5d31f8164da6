package servers_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// scenarios are all of them, in the order in which the page names them.
var scenarios = []scenario{
	{"sets", write},
	{"readers", read},
	{"mixed sets", mixed},
	{"Upgrade and Downgrade", convert},
	{"ReleaseKeys and tokens", parts},
	{"Leave", leave},
	{"fencing numbers", fenced},
	{"WithMinUptime", minUptime},
	{"SCRIPT FLUSH", forgottenScripts},
	{"the line", queue},
	{"readers in line", queueReaders},
	{"messages", messages},
	{"intents", intent},
	{"the watchdog", watchdog},
	{"Break", breaks},
	{"bundles", crowd},
	{"Inspect", inspected},
	{"multi", ofMulti},
	{"quorum", ofQuorum},
	{"reentrant", ofReentrant},
	{"election", ofElection},
}

// findings are what was found of all servers: row → way → the scenarios that have failed; no way if it could not be tried.
type findings struct {
	mu   sync.Mutex
	rows map[string]*found
}

type found struct {
	byHand bool
	failed map[string][]string
}

func (f *findings) note(s *server, w way, failed []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row := f.rows[s.row()]
	if row == nil {
		row = &found{byHand: s.byHand, failed: map[string][]string{}}
		f.rows[s.row()] = row
	}
	row.failed[w.name] = failed
}

// Every operation works on every server over every way, or the table of docs/operating.md says which does not.
func TestServers(t *testing.T) {
	t.Parallel()
	page := readTable(t)
	all := &findings{rows: map[string]*found{}}
	programs := programs(t)
	t.Run("all", func(t *testing.T) {
		for _, p := range programs {
			t.Run(p.product+" "+strings.ReplaceAll(strings.Trim(p.path, "/"), "/", "-"), func(t *testing.T) {
				t.Parallel()
				testServer(t, p.start(t), page, all)
			})
		}
	})
	if *update && !t.Failed() {
		page.note(all)
		page.write(t)
	}
}

func testServer(t *testing.T, s *server, page *table, all *findings) {
	t.Helper()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			rdb := w.open(t, s)
			if rdb == nil {
				t.Skip("it cannot be reached so")
			}
			all.note(s, w, testWay(t, s, w, rdb, page.expected(s, w)))
		})
	}
	t.Run("databases apart", func(t *testing.T) {
		t.Parallel()
		testDatabasesApart(t, s)
	})
	t.Run("TLS refused", func(t *testing.T) {
		t.Parallel()
		if s.tlsAddr == "" {
			t.Skip("it was built without TLS")
		}
		testTLSRefused(t, s)
	})
}

// testWay runs all scenarios at once, and compares what has failed with the page.
func testWay(t *testing.T, s *server, w way, rdb *redis.Client, expected map[string]bool) (failed []string) {
	t.Helper()
	wantWay(t, s, w, rdb)
	errs := make([]error, len(scenarios))
	var wg sync.WaitGroup
	for i, c := range scenarios {
		wg.Go(func() { errs[i] = runScenario(t, s, w, rdb, c) })
	}
	wg.Wait()
	for i, c := range scenarios {
		switch err := errs[i]; {
		case err != nil && !expected[c.name] && !*update:
			t.Errorf("%s: %v", c.name, err)
		case err == nil && expected[c.name] && !*update:
			t.Errorf("%s: it works, but docs/operating.md says that it does not", c.name)
		case err != nil:
			t.Logf("%s: %v", c.name, err)
		}
		if errs[i] != nil {
			failed = append(failed, c.name)
		}
	}
	wantNothingLeft(t, s, w, rdb)
	return failed
}

// wantWay checks that the client uses the way that it is to use.
func wantWay(t *testing.T, s *server, w way, rdb *redis.Client) {
	t.Helper()
	if w.lossy || w.name == "least rights" {
		return
	}
	info, err := rdb.ClientInfo(t.Context()).Result()
	if err != nil {
		return // Redis 6.0 has none
	}
	is := map[string]bool{
		"RESP2": info.Resp == 2, "RESP3": info.Resp == 3, "Unix socket": strings.Contains(info.Addr, s.socket),
		"TLS": rdb.Options().TLSConfig != nil && info.LAddr == s.tlsAddr, fmt.Sprint("database ", database): info.DB == database,
	}[w.name]
	if !is && !s.before(7) {
		t.Errorf("%s: the server says of the connection: %+v", w.name, info)
	}
}

// wantNothingLeft checks that every key that was left has a TTL, and that no lock is there any more.
func wantNothingLeft(t *testing.T, s *server, w way, rdb *redis.Client) {
	t.Helper()
	db := rdb.Options().DB
	admin := s.running.Client(t, func(o *redis.Options) { o.DB = db })
	names := map[string]bool{}
	for iter := admin.Scan(t.Context(), 0, "*#"+w.name+"#*", 1000).Iterator(); iter.Next(t.Context()); {
		names[iter.Val()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		ttl := admin.PTTL(t.Context(), name).Val()
		planted := strings.HasSuffix(name, "#list")
		if ttl == -1 && !planted {
			t.Errorf("%q has no TTL", name)
		}
	}
}
