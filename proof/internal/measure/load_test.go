package measure

import (
	"math"
	"testing"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	before := readTicks("cpu  100 10 50 800 20 5 15 0 0 0\ncpu0 …\n")
	after := readTicks("cpu  180 20 80 850 20 10 20 20 0 0\n") // 200 later: 120 busy, 20 stolen
	if got, want := loadOf(before, after, .25), (Load{Known: true, Others: .35, Steal: .1}); !near(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := loadOf(before, after, .7); got.Others != 0 {
		t.Errorf("more than all of it is our own: got others %v, want 0", got.Others)
	}
	for name, text := range map[string]string{
		"empty": "", "another file": "MemTotal: 1 kB\n", "too short": "cpu 1 2 3\n", "no numbers": "cpu a b c d e f g h\n",
	} {
		if got := loadOf(before, readTicks(text), 0); got.Known {
			t.Errorf("%s: got %v, want that it is not known", name, got)
		}
	}
	if got := loadOf(before, before, 0); got.Known {
		t.Errorf("no time has passed: got %v, want that it is not known", got)
	}
}

func TestTooMuch(t *testing.T) {
	t.Parallel()
	for average, want := range map[string]bool{"0.08": false, "1.00": false, "1.70": true, "": false} {
		if got := tooMuch(average, 2); got != want {
			t.Errorf("%q on 2 processors: got %v, want %v", average, got, want)
		}
	}
}

func near(a, b Load) bool {
	return a.Known == b.Known && math.Abs(a.Others-b.Others) < 1e-9 && math.Abs(a.Steal-b.Steal) < 1e-9
}
