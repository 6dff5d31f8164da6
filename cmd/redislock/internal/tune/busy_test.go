package tune

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
)

// A probe whose timers are late by a planted delay says so.
func TestProbe(t *testing.T) {
	t.Parallel()
	const delay = 40 * ms
	p := &probe{stop: make(chan struct{}), done: make(chan struct{})}
	sleeps := make(chan struct{}, 100)
	go p.watch(func(d time.Duration) <-chan time.Time {
		sleeps <- struct{}{}
		return time.After(d + delay)
	})
	for range 4 { // three of them are over
		if _, ok := check.Receive(sleeps, 20*time.Second); !ok {
			t.Fatal("it does not sleep")
		}
	}
	late, watched := p.end()
	if late < 3*(delay-punctual) || watched < 3*(delay+probePause) || late > watched {
		t.Errorf("late for %v of %v", late, watched)
	}
	b := businessOf(part{Late: late, Watched: watched, Length: time.Second}, 0)
	if all := b.warnings(); len(all) != 1 || !strings.Contains(all[0], "too busy to conclude") {
		t.Errorf("warnings %q", all)
	}
}

func TestSleepsThatAreNotLate(t *testing.T) {
	t.Parallel()
	var p probe
	p.note(probePause)
	p.note(probePause + punctual)
	if p.late != 0 || p.watched != 2*probePause+punctual {
		t.Errorf("late for %v of %v", p.late, p.watched)
	}
	p.note(probePause + 10*ms)
	if p.late != 10*ms-punctual {
		t.Errorf("late for %v", p.late)
	}
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
