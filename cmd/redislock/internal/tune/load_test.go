package tune

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
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

func TestPlan(t *testing.T) {
	t.Parallel()
	small := rotation(&measure.Load{Holds: []time.Duration{2 * ms}, Keys: 1, Workers: 8}, 2)
	crowd := rotation(&measure.Load{Holds: []time.Duration{20 * ms}, Keys: 3, Workers: 64}, 30)
	slow := rotation(&measure.Load{Holds: []time.Duration{time.Hour}, Keys: 1, Workers: 10_000}, 1)
	for _, tt := range []struct {
		name     string
		turn     time.Duration
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
		p, err := planFor(tt.total, tt.policies, tt.turn)
		got := fmt.Sprint(p)
		if err != nil {
			got = "error"
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestNamesOf(t *testing.T) {
	t.Parallel()
	if names := check.Must[[]string](t)(namesOf("a%db", 10)); len(names) != 10 || names[0] != "a1b" || names[9] != "a10b" {
		t.Errorf("names %q", names)
	}
}
