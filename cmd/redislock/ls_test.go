package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestLs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	plantOrders(t, server.Addr())
	url := "redis://" + server.Addr()
	ls := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var o output
		if status := tool().Run(t.Context(), o.streams(), append([]string{"ls", "--redis", url}, args...)); status != 0 {
			t.Errorf("ls %q: exit status %d: %s", args, status, &o.err)
		}
		return o.out.String(), o.err.String()
	}
	keysOf := func(args ...string) (keys []string) {
		t.Helper()
		stdout, _ := ls(append(args, "--json")...)
		for _, o := range objects(t, stdout) {
			keys = append(keys, o["key"].(string))
		}
		return keys
	}
	for args, want := range map[string][]string{
		"":                                {"lock:orders:17", "lock:prices", "lock:report:daily"},
		"--prefix lock:":                  {"orders:17", "prices", "report:daily", "stock"},
		"--prefix lock: --sort ttl":       {"orders:17", "prices", "report:daily", "stock"},
		"--prefix lock: --sort waiting":   {"orders:17", "prices", "report:daily", "stock"},
		"--prefix lock: --sort since":     {"orders:17", "prices", "report:daily", "stock"},
		"--prefix lock: --waiting":        {"orders:17"},
		"--prefix lock: --held":           {"orders:17", "prices", "report:daily"},
		"--prefix lock: --holder web-4":   {"orders:17"},
		"--prefix lock: --holder web-5":   {"prices"},
		"--prefix lock: --holder nobody":  nil,
		"--prefix lock: p*":               {"prices"},
		"--prefix lock: prices":           {"prices"},
		"--prefix lock: prices --waiting": nil,
		"--prefix lock: stock":            {"stock"},
		"lock:s*":                         {"lock:stock"},
		"*":                               {"lock:orders:17", "lock:prices", "lock:report:daily"}, // all is not said to be locks
		"session:*":                       nil,                                                    // it may be a lock under a token of its own
		"session:1":                       {"session:1"},                                          // who names a key asks about that one
	} {
		if diff := cmp.Diff(want, keysOf(strings.Fields(args)...)); diff != "" {
			t.Errorf("ls %s (-want +got):\n%s", args, diff)
		}
	}
	table, stderr := ls("--prefix", "lock:")
	if want := []string{"KEY", "MODE", "HOLDER", "SINCE", "TTL", "WAITING", "FENCE"}; !slices.Equal(strings.Fields(table)[:7], want) || stderr != "" {
		t.Errorf("got\n%s%s", table, stderr)
	}
	if got := strings.Join(fieldsOf(t, table, "orders:17")[1:5], " "); got != "write host=web-3 pid=812 prog=shop" {
		t.Errorf("orders:17 is %s", got)
	}
	if got := strings.Join(fieldsOf(t, table, "stock")[1:], " "); got != "foreign a hash without a TTL - - 0 -" {
		t.Errorf("stock is %s", got)
	}
	if got := fieldsOf(t, table, "prices"); got[2] != "2" || got[3] != "readers" || got[6] != "0" {
		t.Errorf("prices is %q", got)
	}
	long, _ := ls("--prefix", "lock:", "-l")
	for _, want := range []string{
		"  1. to write: host=web-4 pid=31 prog=shop (since ", "  2. to write: host=web-1 pid=50 prog=shop (since ", ", gone)",
		"  held by host=web-5 pid=97 prog=shop (since ", "left: host=job-1",
	} {
		if !strings.Contains(long, want) {
			t.Errorf("-l has no %q:\n%s", want, long)
		}
	}
	stdout, stderr := ls("x*", "--prefix", "lock:")
	wantText(t, "stdout", stdout, "")
	wantText(t, "stderr", stderr, "no key behind the prefix lock: that matches x* is locked or waited for on "+server.Addr())
}

// On a Cluster the keys of every master are listed and shown.
func TestLookAtCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
	client := redislock.New(cluster.Client(t), redislock.WithKeyPrefix("lock:"))
	t.Cleanup(client.Close)
	var want []string
	for i := range 30 {
		key := fmt.Sprintf("k%02d", i)
		check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, time.Hour, nil))
		want = append(want, key)
	}
	url := "redis://" + cluster.Addrs()[0] + "?addr=" + cluster.Addrs()[1]
	stdout, stderr, status := runTool(t, "ls", "--redis", url, "--prefix", "lock:")
	var got []string
	for line := range strings.Lines(stdout) {
		got = append(got, strings.Fields(line)[0])
	}
	if diff := cmp.Diff(append([]string{"KEY"}, want...), got); diff != "" || status != 0 {
		t.Errorf("exit status %d: %s (-want +got):\n%s", status, stderr, diff)
	}
	stdout, stderr, status = runTool(t, append([]string{"show", "--json", "--redis", url, "--prefix", "lock:"}, want...)...)
	if n := strings.Count(stdout, `"mode":"write"`); status != 0 || n != len(want) {
		t.Errorf("exit status %d, %d keys: %s", status, n, stderr)
	}
}

// The table and the objects say the same.
func TestLsTableAndJSON(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	plantOrders(t, server.Addr())
	table, _, _ := runTool(t, "ls", "--prefix", "lock:", "--redis", "redis://"+server.Addr())
	lines, _, _ := runTool(t, "ls", "--prefix", "lock:", "--json", "--redis", "redis://"+server.Addr())
	all := objects(t, lines)
	if got := strings.Count(table, "\n"); got != 1+len(all) || len(all) != 4 {
		t.Errorf("%d lines, %d objects", got, len(all))
	}
	if row := fieldsOf(t, table, "stock"); row[1] != all[3]["mode"] || row[3] != all[3]["type"] || all[3]["mode"] != "foreign" {
		t.Errorf("%v: %q", all[3], row)
	}
	for _, o := range all[:3] {
		row := fieldsOf(t, table, o["key"].(string))
		holders := o["holders"].([]any)
		first := holders[0].(map[string]any)
		if row[1] != o["mode"] || o["redis_key"] != "lock:"+o["key"].(string) {
			t.Errorf("%v: %q", o, row)
		}
		if len(holders) == 1 && !strings.Contains(strings.Join(row, " "), first["metadata"].(string)) {
			t.Errorf("%v: %q", o, row)
		}
		if fence := o["fence"].(float64); fence > 0 && row[len(row)-1] != fmt.Sprintf("%.0f", fence) {
			t.Errorf("%v: %q", o, row)
		}
		for _, name := range []string{"key", "redis_key", "mode", "ttl_ms", "waiting", "fence", "holders", "intent", "line"} {
			if _, ok := o[name]; !ok {
				t.Errorf("no %s in %v", name, o)
			}
		}
		if at, ok := first["since"].(string); ok {
			if _, err := time.Parse(time.RFC3339, at); err != nil {
				t.Error(err)
			}
		}
	}
	orders := all[0]
	line := orders["line"].([]any)
	if orders["waiting"] != 1.0 || len(line) != 2 || line[0].(map[string]any)["alive"] != true || line[1].(map[string]any)["alive"] != false {
		t.Errorf("orders:17 is %v", orders)
	}
	if ttl := orders["ttl_ms"].(float64); ttl <= 0 || ttl > 1_800_000 {
		t.Errorf("a ttl of %v ms", ttl)
	}
	if left := all[2]["holders"].([]any)[0].(map[string]any); left["left"] != true {
		t.Errorf("report:daily is %v", all[2])
	}
}

// ls says what it may have missed, and what it was not shown.
func TestLsRemarks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	rdb := server.Client(t)
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	opt := redislock.Options{Fenced: true}
	check.Must[*redislock.Lock](t)(client.As("me").Obtain(t.Context(), []string{"lock:a"}, time.Hour, &opt))
	check.NoError(t, rdb.Set(t.Context(), "data", "x", time.Hour).Err())
	check.NoError(t, rdb.Do(t.Context(), "acl", "setuser", "app", "on", ">pw", "~lock:*", "~redislock:*", "+@all").Err())
	var o output
	status := tool().Run(t.Context(), o.streams(), []string{"ls", "--redis", "redis://app:pw@" + server.Addr()})
	if status != 0 || !strings.HasPrefix(o.out.String(), "KEY     MODE") || !strings.Contains(o.out.String(), "\nlock:a  write  somebody") {
		t.Errorf("exit status %d: %s", status, &o.out)
	}
	wantText(t, "stderr", o.err.String(), "1 key was left out, because this user may not read it; --prefix limits")
	wantText(t, "stderr", o.err.String(), "1 key has a token of the caller's own choosing, and was found by the fencing number beside it;\nothers like it")
}

// What a key is called cannot move the cursor, and is the same for a program.
func TestLsOddKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	client := redislock.New(server.Client(t))
	t.Cleanup(client.Close)
	keys := []string{"a b", "new\nline", "\x1b[31mred", "{tag}x", "a}b", "ключ", "鍵", "\xff"}
	for _, key := range keys {
		opt := redislock.Options{Metadata: "\x1b[2J\n" + strings.Repeat("m", 4000)}
		check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, time.Hour, &opt))
	}
	url := "redis://" + server.Addr()
	table, _, _ := runTool(t, "ls", "-l", "--redis", url)
	if strings.Contains(table, "\x1b") || strings.Count(table, "\n") != 1+len(keys) {
		t.Errorf("got %q", table)
	}
	shown, _, _ := runTool(t, append([]string{"show", "--redis", url, "--"}, keys...)...)
	if strings.Contains(shown, "\x1b") || strings.Count(shown, "mode ") != len(keys) {
		t.Errorf("got %q", shown)
	}
	lines, _, _ := runTool(t, "ls", "--json", "--redis", url)
	var got []string
	for _, o := range objects(t, lines) {
		if o["key_base64"] == "/w==" {
			o["key"] = "\xff"
		}
		got = append(got, o["key"].(string))
	}
	slices.Sort(keys)
	slices.Sort(got)
	if diff := cmp.Diff(keys, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whoever wants no more than the first lines gets these, and no complaint.
func TestLsClosedPipe(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	rdb := server.Client(t)
	pipe := rdb.Pipeline()
	for i := range 5000 {
		pipe.Set(t.Context(), fmt.Sprint("k", i), owners.NewToken()+"|"+strings.Repeat("m", 100), time.Hour)
	}
	check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
	read, write, err := os.Pipe()
	check.NoError(t, err)
	p := newProcess(t, "ls", "--redis", "redis://"+server.Addr())
	p.Stdout = write
	p.start(t)
	check.NoError(t, write.Close())
	first := check.Must[string](t)(bufio.NewReader(read).ReadString('\n'))
	check.NoError(t, read.Close())
	p.status(t)
	if !strings.HasPrefix(first, "KEY") || p.stderr.String() != "" {
		t.Errorf("first line %q, stderr %q", first, &p.stderr)
	}
}

// What was found before the server has gone, or before Ctrl-C, is listed.
func TestLsInterrupted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end    func(*process, *redistest.Server)
		status int
		err    string
	}{
		"server": {func(_ *process, s *redistest.Server) { s.Kill() }, 69, "cannot use "},
		"ctrl-c": {func(p *process, _ *redistest.Server) { _ = p.Process.Signal(syscall.SIGINT) }, 130, "redislock ls: interrupted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Redis)
			rdb := server.Client(t)
			pipe := rdb.Pipeline()
			for i := range 3000 {
				pipe.Set(t.Context(), fmt.Sprint("k", i), owners.NewToken(), time.Hour)
			}
			check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
			relay := redistest.NewRelay(t, server.Addr())
			scans, hold := 0, make(chan context.Context)
			relay.OnRequest(func(command string, _ []string) {
				if strings.EqualFold(command, "scan") {
					if scans++; scans == 5 {
						relay.HoldRequests()
						close(hold)
					}
				}
			})
			p := newProcess(t, "ls", "--redis", "redis://"+relay.Addr()+"?read_timeout=20s&max_retries=1").start(t)
			select {
			case <-hold:
			case <-time.After(time.Minute):
				t.Fatalf("no fifth SCAN: %s", &p.stderr)
			}
			tt.end(p, server)
			relay.ReleaseRequests()
			if status := p.status(t); status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			if n := strings.Count(p.stdout.String(), "\n"); n < 400 || n >= 3000 {
				t.Errorf("%d lines", n)
			}
			for _, want := range []string{"the list is not complete: ", tt.err} {
				if !strings.Contains(p.stderr.String(), want) {
					t.Errorf("no %q in %q", want, p.stderr.String())
				}
			}
		})
	}
}

// A prefix that ends within a word is not all of it, which is said; one that ends with a separator is.
func TestPrefixCutsAWord(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	client := redislock.New(server.Client(t))
	t.Cleanup(client.Close)
	check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"orders:17"}, time.Hour, nil))
	for prefix, want := range map[string]string{
		"ord": "the prefix ord ends within a word: in Redis, the first key is orders:17\n", "orders:": "", "orders": "",
	} {
		for _, command := range []string{"ls", "tree"} {
			if _, stderr, status := runTool(t, command, "--redis", server.Addr(), "--prefix", prefix); status != 0 || stderr != want {
				t.Errorf("%s --prefix %s: status %d, stderr %q", command, prefix, status, stderr)
			}
		}
	}
}

// What the environment says counts where no flag does: our own variables first, then those of other programs.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis, "--requirepass", "hush")
	client := redislock.New(server.Client(t, func(o *redis.Options) { o.Password = "hush" }), redislock.WithKeyPrefix("lock:"))
	t.Cleanup(client.Close)
	check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"orders:17"}, time.Hour, nil))
	const dead = "redis://127.0.0.1:1"
	good := "redis://:hush@" + server.Addr()
	for name, tt := range map[string]struct {
		env    []string
		args   []string
		status int
	}{
		"REDISLOCK_REDIS":             {[]string{"REDISLOCK_REDIS=" + good}, nil, 0},
		"REDIS_URL":                   {[]string{"REDIS_URL=" + good}, nil, 0},
		"REDISLOCK_REDIS comes first": {[]string{"REDIS_URL=" + dead, "REDISLOCK_REDIS=" + good}, nil, 0},
		"the flag comes first":        {[]string{"REDISLOCK_REDIS=" + dead}, []string{"--redis", good}, 0},
		"REDISCLI_AUTH":               {[]string{"REDISCLI_AUTH=hush"}, []string{"--redis", server.Addr()}, 0},
		"REDISCLI_AUTH of a user":     {[]string{"REDISCLI_AUTH=hush"}, []string{"--redis", "redis://default@" + server.Addr()}, 0},
		"a password in the url":       {[]string{"REDISCLI_AUTH=wrong"}, []string{"--redis", good}, 0},
		"no password":                 {nil, []string{"--redis", server.Addr()}, 77},
	} {
		p := newProcess(t, append([]string{"ls"}, tt.args...)...)
		p.Env = append(append(p.Env, "REDISLOCK_PREFIX=lock:"), tt.env...)
		if status := p.start(t).status(t); status != tt.status || status == 0 && !strings.Contains(p.stdout.String(), "\norders:17 ") {
			t.Errorf("%s: status %d, %s%s", name, status, p.stdout.String(), p.stderr.String())
		}
	}
	p := newProcess(t, "demo", "--quick", "conflict") // which plays on a server of its own, unless it is told otherwise
	p.Env = append(p.Env, "REDIS_URL="+dead)
	if status := p.start(t).status(t); status != 0 {
		t.Errorf("the demo took the server of REDIS_URL: status %d", status)
	}
}
