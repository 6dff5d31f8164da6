package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestJudgeVersion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, version string
		cluster       bool
		status        Status
		text, mend    string
	}{
		{"Redis", "4.0.14", false, Fault, "refuses the scripts", "6.2.20"},
		{"Redis", "6.0.20", false, Warning, "Queue does not work", "6.2.20"},
		{"Redis", "6.2.6", false, Fault, "crashes when a script", "6.2.20"},
		{"Redis", "6.2.20", false, OK, "nothing is known", ""},
		{"Redis", "6.2.20", true, Warning, "no sharded pub/sub", "7.2.11"},
		{"Redis", "7.0.0", true, Fault, "in the middle", "7.2.11"},
		{"Redis", "7.0.12", false, Warning, "since July 2024", "7.2.11"},
		{"Redis", "7.0.12", true, Warning, "may come back", "7.2.11"},
		{"Redis", "7.2.4", false, Warning, "numbers that a script gives", "7.2.11"},
		{"Redis", "7.2.11", true, OK, "", ""},
		{"Redis", "7.4.5", false, Warning, "CVE-2025-49844", "7.4.6"},
		{"Redis", "8.0.10", true, OK, "", ""},
		{"Redis", "8.10.1", true, OK, "", ""},
		{"Valkey", "7.2.5", false, Warning, "numbers that a script gives", "7.2.6"},
		{"Valkey", "8.1.3", false, Warning, "CVE-2025-49844", "8.1.4"},
		{"Valkey", "8.0.1", true, OK, "", ""},
		{"Valkey", "9.0.0", true, OK, "", ""},
	} {
		f := judgeVersion(tt.name, tt.version, tt.cluster)
		if f.Status != tt.status || !strings.Contains(f.Found, tt.text) || !strings.Contains(f.Mend, " "+tt.mend+" ") && tt.mend != "" {
			t.Errorf("%s %s, cluster %t: %+v", tt.name, tt.version, tt.cluster, f)
		}
	}
}

// judged is what a check finds on a server that has said so by INFO and by CONFIG GET.
func judged(look func(context.Context, *exam) Finding, info, config string) Finding {
	return new(patient).look(context.Background(), &node{info: pairs(info), config: pairs(config)}, look)
}

func TestJudges(t *testing.T) {
	t.Parallel()
	ms := func(n int) times { return slices.Repeat(times{time.Duration(n) * time.Millisecond}, tries) }
	tail := append(slices.Repeat(times{time.Millisecond}, tries*8/10), slices.Repeat(times{time.Second}, tries*2/10)...)
	now := time.Now()
	slow := func(name string, age, took time.Duration) []redis.SlowLog {
		return []redis.SlowLog{{Args: []string{name, "sha"}, Time: now.Add(-age), Duration: took}}
	}
	const clients = "id=1 omem=100 name=\nid=2 omem=6000000 name=x\n"
	for name, tt := range map[string]struct {
		got    Finding
		status Status
		text   string
	}{
		"memory free":           {judged(checkMemory, "used_memory=50", "maxmemory=100"), OK, "50 %"},
		"memory nearly full":    {judged(checkMemory, "used_memory=95", "maxmemory=100"), Warning, "95 %"},
		"memory full":           {judged(checkMemory, "used_memory=101", "maxmemory=100"), Fault, "101 %"},
		"log not written":       {judged(checkPersistence, "aof_enabled=1,aof_last_write_status=err", ""), Fault, "append-only file cannot"},
		"snapshot not written":  {judged(checkPersistence, "rdb_last_bgsave_status=err", ""), Fault, "last snapshot"},
		"all was written":       {judged(checkPersistence, "aof_enabled=1,aof_last_write_status=ok,rdb_last_bgsave_status=ok", "appendfsync=always"), OK, "every lock"},
		"connections used up":   {judged(checkConnections, "connected_clients=96", "maxclients=100"), Fault, "96 of 100"},
		"connections nearly":    {judged(checkConnections, "connected_clients=85", "maxclients=100"), Warning, "85 of 100"},
		"connections refused":   {judged(checkConnections, "rejected_connections=3", "maxclients=100"), Warning, "3 were refused"},
		"connections free":      {judged(checkConnections, "connected_clients=10", "maxclients=100,timeout=0,tcp-keepalive=1"), OK, "10 of 100"},
		"one that is not known": {judged(checkConnections, "", "maxclients=100"), Unknown, "there are connections left; when one is closed could not be looked at"},
		"no number":             {judged(checkConnections, "", "maxclients=many"), Unknown, `maxclients is "many", which is no number`},
		"buffers empty":         {judgeBuffers(leastOf([]string{"33554432", "8388608"}), ""), OK, "8.0 MiB"},
		"buffers full":          {judgeBuffers(leastOf([]string{"33554432", "8388608"}), clients), Warning, "1 subscriber of 2"},
		"buffers without limit": {judgeBuffers(0, clients), OK, "no limit"},
		"buffers, a hard limit": {judgeBuffers(leastOf([]string{"1000", "0"}), ""), Warning, "1000 bytes"},
		"near":                  {judgeLatency(ms(1), ms(2)), OK, "p99 2.0ms"},
		"far":                   {judgeLatency(ms(80), ms(80)), Warning, "80ms"},
		"out of reach":          {judgeLatency(ms(1500), ms(1500)), Fault, "1.5s"},
		"slow scripts":          {judgeLatency(ms(1), ms(30)), Warning, "a script p50 30ms"},
		"slow now and then":     {judgeLatency(tail, tail), Warning, "max 1.0s"},
		"a slow script":         {judgeSlow(slow("EVALSHA", time.Hour, time.Second), now), Warning, "up to 1.0s"},
		"a slow script once":    {judgeSlow(slow("EVALSHA", 25*time.Hour, time.Second), now), OK, "last day"},
		"a script that is not":  {judgeSlow(slow("EVALSHA", time.Hour, 20*time.Millisecond), now), OK, "last day"},
		"a slow command":        {judgeSlow(slow("KEYS", time.Hour, time.Second), now), OK, "last day"},
		"busy":                  {notSeen(world.Refusal("BUSY Redis is busy running a script."), "+info"), Fault, "BUSY"},
		"disabled":              {notSeen(world.Refusal("ERR unknown command 'CONFIG'"), "+config|get"), Unknown, "many services"},
		"forbidden":             {notSeen(world.Refusal("NOPERM no"), "+config|get"), Unknown, "needs +config|get"},
	} {
		wantJudged(t, name, tt.got, tt.status, tt.text)
	}
}

// wantJudged checks a finding. One that is bad says what it means, and how to mend it.
func wantJudged(t *testing.T, name string, got Finding, status Status, text string) {
	t.Helper()
	if got.Status != status || !strings.Contains(got.Found, text) {
		t.Errorf("%s: %+v, want %s and %q", name, got, status, text)
	}
	if (status == Warning || status == Fault) && (got.Means == "" || got.Mend == "") {
		t.Errorf("%s: it does not say what it means or how to mend it: %+v", name, got)
	}
}

// A primary has those replicas that are online and have said something of late.
func TestJudgePrimary(t *testing.T) {
	t.Parallel()
	const good, late = "online,lag=0", "online,lag=10"
	for name, tt := range map[string]struct {
		slaves   []string
		expected int
		status   Status
		text     string
	}{
		"all":                         {[]string{good, good}, 2, OK, "2 replicas of 2"},
		"one that is just in time":    {[]string{good, late}, 2, OK, "2 replicas of 2"},
		"one that is late":            {[]string{good, "online,lag=11"}, 2, Fault, "1 replica of 2"},
		"one that gets its snapshot":  {[]string{"send_bulk,lag=0", good}, 2, Fault, "1 replica of 2"},
		"one that does not say":       {[]string{"online", good}, 2, Fault, "1 replica of 2"},
		"one that says what is none":  {[]string{"online,lag=x", good}, 2, Fault, "1 replica of 2"},
		"none":                        {nil, 1, Fault, "0 replicas of 1"},
		"none, and none is to be":     {nil, 0, OK, "no replicas"},
		"none of those that are away": {[]string{"wait_bgsave,lag=0"}, 0, OK, "no replicas"},
		"more than there are to be":   {[]string{good, good}, 1, Warning, "2 replicas connected, 1 configured"},
		"more, but one is away":       {[]string{good, "online,lag=99"}, 1, OK, "1 replica of 1"},
	} {
		info := map[string]string{}
		for i, slave := range tt.slaves {
			info[fmt.Sprint("slave", i)] = "ip=127.0.0.1,port=1,state=" + slave
		}
		wantJudged(t, name, (&node{info: info}).judgePrimary(tt.expected), tt.status, tt.text)
	}
}

func TestLibraryOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, sample, want string }{
		{"string", token, ours},
		{"string", token + "|host=a", ours},
		{"string", "AZ012345" + token + "|host=a", ours},
		{"string", token + " host=a", bsm},
		{"string", "MDEyMzQ1Njc4OWFiY2RlZg==", redsync},
		{"string", "", ""},
		{"string", "a value", ""},
		{"string", "0123456789abcdefABCDE!", ""},
		{"string", strings.Repeat("x", sampleBytes), ""},
		{"zset", token + "|host=a", ours},
		{"zset", "member", ""},
		{"hash", "01234567-89ab-cdef-0123-456789abcdef:42", redisson},
		{"hash", "01234567-89ab-cdef-0123-456789abcdef", ""},
		{"list", "", ""},
	} {
		if got := libraryOf(tt.kind, tt.sample); got != tt.want {
			t.Errorf("%s %q: %q, want %q", tt.kind, tt.sample, got, tt.want)
		}
	}
}

// What servers have in common is one finding, and colours are on terminals alone.
func TestReport(t *testing.T) {
	t.Parallel()
	n := func(addr string) *node { return &node{addr: addr} }
	f := bad(Fault, "found", strings.Repeat("word ", 40), "mend it")
	merged := merge("eviction", []Finding{f.on(n("a:1")), fine("well").on(n("b:1")), f.on(n("c:1")), fine("all"), fine("all")})
	if got := fmt.Sprint(len(merged), merged[0].Servers, merged[1].Servers); got != "4 [a:1 c:1] [b:1]" {
		t.Errorf("merged: %s: %s", got, list(merged))
	}
	var b strings.Builder
	r := newReport(&b, false, true)
	check.NoError(t, r.add(merged))
	lines := strings.Split(b.String(), "\n")
	if want := "fault    eviction      found (a:1, c:1)"; lines[0] != want || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q, want %q", lines[0], want)
	}
	for _, line := range lines {
		if len(line) > width {
			t.Errorf("%d characters: %q", len(line), line)
		}
	}
	b.Reset()
	check.NoError(t, r.end(2, "cache-1"))
	if got := b.String(); got != "\n2 checks of cache-1: 1 fault, 0 warnings, 0 unknown, 3 ok\n" {
		t.Error(got)
	}
}
