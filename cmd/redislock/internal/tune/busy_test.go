package tune

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What is late beyond what every timer is counts, and nothing else does.
func TestLateness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := []time.Duration{0, punctual, 10 * ms, 40 * ms}
		late, watched := lateness(t.Context(), func(_ context.Context, d time.Duration) bool {
			if len(delays) == 0 {
				return false
			}
			time.Sleep(d + delays[0])
			delays = delays[1:]
			return true
		})
		if late != 50*ms-2*punctual || watched != 4*probePause+50*ms+punctual {
			t.Errorf("late for %v of %v", late, watched)
		}
		b := businessOf(part{Late: late, Watched: watched, Length: time.Second}, 0)
		if all := b.warnings(); len(all) != 1 || !strings.Contains(all[0], "too busy to conclude") {
			t.Errorf("warnings %q", all)
		}
	})
}

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
	if b := businessOf(part{}, 0); b.Late != 0 || b.Own != 0 {
		t.Errorf("of nothing: %+v", b)
	}
	before := processCPU()
	for began := time.Now(); time.Since(began) < 10*time.Second && processCPU()-before < 20*ms; {
		_ = strings.Repeat("x", 1000)
	}
	used := processCPU() - before
	if used < 20*ms {
		t.Fatalf("this process has used %v", used)
	}
	if b := businessOf(part{CPU: used, Length: used}, used); b.Own <= 0 || b.Own > 2 {
		t.Errorf("the load has used %v of the machine", b.Own)
	}
}
