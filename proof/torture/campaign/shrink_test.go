package campaign

import (
	"testing"
	"time"
)

func TestShrink(t *testing.T) {
	t.Parallel()
	always := func(from int) func(int, int) bool {
		return func(faults, _ int) bool { return faults >= from }
	}
	for name, test := range map[string]struct {
		faults int
		fails  func(faults, rerun int) bool // rerun counts those with so many faults, from 0
		want   Shrunk
	}{
		"without any": {8, always(0), Shrunk{Faults: 0, Of: 8, Proven: true, Minimal: true, Fails: 3, Reruns: 3, All: 3}},
		"with five":   {8, always(5), Shrunk{Faults: 5, Of: 8, Proven: true, Minimal: true, Fails: 3, Reruns: 3}},
		"with all":    {8, always(8), Shrunk{Faults: 8, Of: 8, Proven: true, Minimal: true, Fails: 3, Reruns: 3}},
		"never again": {8, always(9), Shrunk{Faults: 8, Of: 8, Reruns: 8}},
		"has none":    {0, always(0), Shrunk{Of: 0, Proven: true, Minimal: true, Fails: 3, Reruns: 3, All: 3}},
		"three of ten": {
			6, func(faults, rerun int) bool { return faults >= 2 && (rerun == 0 || rerun == 4 || rerun == 9) },
			Shrunk{Faults: 2, Of: 6, Proven: true, Minimal: true, Fails: 3, Reruns: 10},
		},
		"two of ten": {
			6, func(faults, rerun int) bool { return faults >= 5 || faults >= 2 && (rerun == 0 || rerun == 4) },
			Shrunk{Faults: 5, Of: 6, Proven: true, Minimal: true, Fails: 3, Reruns: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reruns := map[int]int{}
			got := Shrink(test.faults, time.Hour, func(faults int) bool {
				reruns[faults]++
				return test.fails(faults, reruns[faults]-1)
			})
			if got.All != sum(reruns) {
				t.Errorf("says that there were %d reruns, there were %v", got.All, reruns)
			}
			for faults, n := range reruns {
				if n > manyReruns {
					t.Errorf("%d reruns with %d faults", n, faults)
				}
			}
			if test.want.All == 0 {
				got.All = 0
			}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestShrinkHasALimit(t *testing.T) {
	t.Parallel()
	if got := Shrink(8, -1, func(int) bool { t.Error("there was a rerun"); return true }); got != (Shrunk{Faults: 8, Of: 8}) {
		t.Errorf("without any time: got %+v", got)
	}
	n := 0
	got := Shrink(8, time.Hour/2, func(faults int) bool {
		n++
		return faults >= 4
	})
	if got.Faults != 4 || n > 8*4 {
		t.Errorf("got %+v after %d reruns", got, n)
	}
}
