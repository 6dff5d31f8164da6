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
	for want, b := range map[string]business{
		`^$`:                                   {Late: .1, Own: .8}, // as much as is normal
		`^The machine .* for 25 % of .*$`:      {Late: .25, Own: .3},
		`^The load .* has used 93 % of .*$`:    {Late: .02, Own: .93},
		`^.* late for 50 %.*\n.* used 93 %.*$`: {Late: .5, Own: .93},
	} {
		if got := strings.Join(b.warnings(), "\n"); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%+v: %q, want %s", b, got, want)
		}
	}
}

func TestBusiness(t *testing.T) {
	t.Parallel()
	if b := (&contest{}).business(); b.Late != 0 || b.Own != 0 {
		t.Errorf("of nothing: %+v", b)
	}
	c := contest{used: time.Second, took: 2 * time.Second, results: []result{
		{all: measure.Part{Late: 10 * ms, Watched: 50 * ms}},
		{all: measure.Part{Late: 20 * ms, Watched: 50 * ms}},
	}}
	if got, want := c.business(), (business{Late: .3, Own: .5 / float64(runtime.NumCPU())}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
