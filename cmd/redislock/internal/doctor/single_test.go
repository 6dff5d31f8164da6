package doctor

import (
	"fmt"
	"os"
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
	return examinedOn(t, &cli.Conn{RDB: rdb}, name, mods...)
}

func examinedOn(t *testing.T, conn *cli.Conn, name string, mods ...func(*patient)) []Finding {
	t.Helper()
	p := check.Must[*patient](t)(newPatient(t.Context(), conn, defaults(), cli.NewScreen(t.Output())))
	defer p.close()
	for _, mod := range mods {
		mod(p)
	}
	p.client.Close()
	p.client = conn.Client() // with the prefix
	todo := check.Must[[]Check](t)(chosen([]string{name}))
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

// rows are the lines of a file, each with its columns.
func rows(t *testing.T, file string) (all [][]string) {
	t.Helper()
	for line := range strings.Lines(string(check.Must[[]byte](t)(os.ReadFile(file)))) {
		row := strings.Split(line, "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		all = append(all, row)
	}
	return all
}

// Each check of one server, with a configuration that fails it and one that passes.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, row := range rows(t, "testdata/settings.txt") {
		t.Run(row[0]+" "+row[1], func(t *testing.T) {
			t.Parallel()
			b := redistest.Shared(t, redistest.Redis)
			if row[1] != "" {
				args := strings.Fields(row[1])
				for i := range args {
					args[i] = strings.Trim(args[i], `"`)
				}
				b = redistest.Start(t, redistest.Redis, args...)
			}
			want(t, examined(t, b.Client(t), row[0]), Status(row[2]), row[3])
		})
	}
}

// A new Valkey has the warnings of a server that nobody has configured, and no others.
func TestHealthyValkey(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Valkey).Client(t)
	for _, c := range checks() {
		if c.name == "latency" { // the machine may be busy
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
