package tune

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	if all := (&contest{}).warnings(); len(all) > 0 {
		t.Errorf("of nothing: %q", all)
	}
	for _, tt := range []struct {
		late, own float64
		want      string
	}{
		{.1, .8, `^$`}, // as much as is normal
		{.25, .3, `^The machine .* for 25 % of .*$`},
		{.02, .93, `^The load .* has used 93 % of .*$`},
		{.5, .93, `^.* late for 50 %.*\n.* used 93 %.*$`},
	} {
		late := time.Duration(tt.late * float64(100*ms))
		c := contest{
			results: []result{{all: measure.Part{Late: late, Watched: 50 * ms}}, {all: measure.Part{Watched: 50 * ms}}},
			used:    time.Duration(tt.own * float64(time.Second) * float64(runtime.NumCPU())), took: time.Second,
		}
		if got := strings.Join(c.warnings(), "\n"); !regexp.MustCompile(tt.want).MatchString(got) {
			t.Errorf("late %v, own %v: %q, want %s", tt.late, tt.own, got, tt.want)
		}
	}
}
