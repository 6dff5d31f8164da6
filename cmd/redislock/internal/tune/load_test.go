package tune

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) {
	cli.Reachable = time.Minute
	redistest.Main(m)
}

// run runs the command in this process. The load cannot be played here.
func run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, diag bytes.Buffer
	tool := cli.Tool{Name: "redislock", Commands: []cli.Command{Command()}}
	status = tool.Run(t.Context(), cli.Streams{Out: &out, Err: &diag}, append([]string{"tune"}, args...))
	return out.String(), diag.String(), status
}

// The server is never asked: nobody is there, which would be another error.
func TestBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		check.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	garbage := file("garbage", "20ms\n\n# a comment\n30 ms\n")
	negative := file("negative", "20ms\n-1ms\n")
	empty := file("empty", "# nothing\n\n")
	good := file("good", "20ms # the usual\n1.5s\n")
	for _, tt := range []struct{ args, want string }{
		{"--workers 0", "--workers 0 is not from 1 to"},
		{"--workers -3", "--workers -3 is not from 1"},
		{"--workers 1000000", "is not from 1 to 10000"},
		{"--keys 0", "--keys 0 is not from 1"},
		{"--keys 5 --of 4", "--keys 5 is more than there are: --of 4"},
		{"--of -1", "--of -1 is not from 1"},
		{"--of 20000", "is not from 1 to 10000"},
		{"--processes 0", "--processes 0 is not from 1"},
		{"--processes 5 --workers 4", "each process needs a worker"},
		{"--readers 1.1", "--readers 1.1 is not a share"},
		{"--readers -0.1", "is not a share"},
		{"--readers NaN", "is not a share"},
		{"--readers many", "--readers"},
		{"--think -1s", "--think -1s is not from 0"},
		{"--wait -1s", "--wait -1s is not from 0"},
		{"--hold 0.5", "--hold"},
		{"--hold -1ms", "a hold time of -1ms"},
		{"--hold 2h", "a hold time of 2h0m0s"},
		{"--hold 1s --holds " + good, "give one of them"},
		{"--holds " + garbage, `line 4: 30 ms is no duration`},
		{"--holds " + negative, "line 2: a hold time of -1ms"},
		{"--holds " + empty, "it has no hold times"},
		{"--holds " + dir + "/none", "no such file"},
		{"--for 1s --hold 20ms --workers 64 --keys 3", "--for 1s is too short: 4 policies need "},
		{"--for -1s", "--for -1s is not from 0"},
		{"--for 900ms", "is too short"},
		{"--pattern orders", "needs one %d"},
		{"--pattern %d:%d", "needs one %d"},
		{"--pattern %d%s", "needs one %d"},
		{"--policy linear", "is no duration"},
		{"--policy sometimes", "there is no policy sometimes"},
		{"--policy a=queue --policy a=linear:1s", `two policies have the name "a"`},
		{"--no-defaults", "from 2 to 20 policies"},
		{"--no-defaults --policy queue", "from 2 to 20 policies"},
		{"--plot " + dir + "/none/out.svg", "--plot: "},
		{"--plot " + dir, "is a folder"},
		{"--plot x.svg --policy queue --policy queue --policy queue", "room for 6 policies, and there are 7"},
		{"orders", "unexpected argument orders"},
		{"--redis http://localhost", "the url of the server"},
	} {
		t.Run(strings.ReplaceAll(tt.args, dir, ""), func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--redis", "redis://127.0.0.1:1"}, strings.Fields(tt.args)...)
			stdout, stderr, status := run(t, args...)
			if status != cli.Usage || stdout != "" || !strings.Contains(stderr, tt.want) {
				t.Errorf("status %d, stdout %q, stderr %q, want %q", status, stdout, stderr, tt.want)
			}
		})
	}
	if left := check.Must[[]string](t)(filepath.Glob(filepath.Join(dir, ".tune-*"))); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if got := check.Must[[]time.Duration](t)(readHolds(good)); !slices.Equal(got, []time.Duration{20 * ms, 1500 * ms}) {
		t.Errorf("hold times %v", got)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	if _, stderr, status := run(t, "--redis", "redis://127.0.0.1:1"); status != cli.Unavailable || !strings.Contains(stderr, "cannot use 127.0.0.1:1") {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

func TestSampledHolds(t *testing.T) {
	t.Parallel()
	var all []time.Duration
	for i := range 10_000 {
		all = append(all, time.Duration(i)*ms)
	}
	some := sampled(all, 100)
	l := load{Holds: some}
	if len(some) != 100 || l.mean() < 4900*ms || l.mean() > 5100*ms || some[0] > 100*ms || some[99] < 9900*ms {
		t.Errorf("%d hold times from %v to %v, %v on the average", len(some), some[0], some[len(some)-1], l.mean())
	}
	if few := sampled(all[:5], 100); len(few) != 5 {
		t.Errorf("%d of 5", len(few))
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	small := load{Holds: []time.Duration{2 * ms}, Keys: 1, Of: 2, Workers: 8}
	crowd := load{Holds: []time.Duration{20 * ms}, Keys: 3, Of: 30, Workers: 64}
	slow := load{Holds: []time.Duration{time.Hour}, Keys: 1, Of: 1, Workers: 10_000}
	for _, tt := range []struct {
		name     string
		l        load
		total    time.Duration
		policies int
		want     string
	}{
		{"many rounds", small, 10 * time.Second, 4, "{25 100ms}"},
		{"not too many", small, 10 * time.Minute, 4, "{40 3.75s}"},
		{"at least five", small, time.Second, 4, "{5 50ms}"},
		{"too short", small, 999 * ms, 4, "error"},
		{"of the issue", crowd, 10 * time.Second, 4, "{5 500ms}"},
		{"nothing said", small, 0, 4, "{25 100ms}"},
		{"nothing said, much to do", crowd, 0, 4, "{10 768ms}"},
		{"much too slow", slow, time.Hour, 4, "error"},
		{"much too slow for ever", slow, 0, 20, "error"},
	} {
		p, err := planFor(tt.total, tt.policies, &tt.l)
		got := fmt.Sprint(p)
		if err != nil {
			got = "error"
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	names := check.Must[[]string](t)(namesOf("a%db", 10))
	if names[0] != "a1b" || names[9] != "a10b" {
		t.Errorf("names %q", names)
	}
	seen := map[string]int{}
	for n := 1; n <= 10; n++ {
		for round := range 50 {
			one, two, other := newDraw(round, 1), newDraw(round, 1), newDraw(round, 2)
			keys := one.keys(names, n)
			if diff := cmp.Diff(keys, two.keys(names, n)); diff != "" {
				t.Fatalf("policies do not play the same: %s", diff)
			}
			if sorted := slices.Compact(slices.Sorted(slices.Values(keys))); len(sorted) != n {
				t.Fatalf("%d of %q", n, keys)
			}
			if n == 1 {
				seen[keys[0]+other.keys(names, n)[0]]++
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("workers have the same keys: %v", seen)
	}
}
