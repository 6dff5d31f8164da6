package tune

import (
	"context"
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
	for _, tt := range []struct {
		name string
		b    business
		want []string
	}{
		{"idle", business{}, nil},
		{"as much as is normal", business{Late: .1, Own: .8}, nil},
		{"late", business{Late: .25, Own: .3}, []string{"late for 25 % of the time"}},
		{"the load itself", business{Late: .02, Own: .93}, []string{"has used 93 %"}},
		{"both", business{Late: .5, Own: .93}, []string{"late for 50 %", "has used 93 %"}},
	} {
		got := tt.b.warnings()
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q", tt.name, got)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: no %q in %q", tt.name, want, got[i])
			}
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
