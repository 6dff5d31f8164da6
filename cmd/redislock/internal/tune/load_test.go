package tune

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

func TestReadHolds(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "holds")
	check.NoError(t, os.WriteFile(file, []byte("# measured\n\n20ms # the usual\n1.5s\n"), 0o600))
	if got := check.Must[[]time.Duration](t)(readHolds(file)); !slices.Equal(got, []time.Duration{20 * ms, 1500 * ms}) {
		t.Errorf("hold times %v", got)
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
