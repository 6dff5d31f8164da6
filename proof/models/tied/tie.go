package tied

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A Tie remembers the distinct runs of scripts that a model has shown it, each as an R: what the server of the model has
// before, and the call. If there are more than it may keep, chance decides which it keeps, and all are alike to it.
type Tie[R comparable] struct {
	most  int
	seed  maphash.Seed
	kept  map[uint64]R // by their hashes
	below uint64       // those are kept whose hash is not greater
}

// NewTie returns a Tie that compares so many runs at most.
func NewTie[R comparable](most int) *Tie[R] {
	return &Tie[R]{most: most, seed: maphash.MakeSeed(), kept: map[uint64]R{}, below: 1<<64 - 1}
}

// Note remembers a run.
func (t *Tie[R]) Note(run R) {
	hash := maphash.Comparable(t.seed, run)
	if hash > t.below {
		return
	}
	t.kept[hash] = run
	if len(t.kept) < 2*t.most {
		return
	}
	t.below = t.hashes()[t.most-1]
	maps.DeleteFunc(t.kept, func(hash uint64, _ R) bool { return hash > t.below })
}

// hashes returns those of the runs that are compared, the least first. They are a fair sample, because a hash is chance.
func (t *Tie[R]) hashes() []uint64 {
	hashes := slices.Sorted(maps.Keys(t.kept))
	return hashes[:min(len(hashes), t.most)]
}

// Check compares the runs, each as the case that the model makes of it, and reports the differences. A script of which
// nothing was compared is a failure as well, and so is one that is not named.
func (t *Tie[R]) Check(tb testing.TB, caseOf func(R) Case, scripts ...string) {
	tb.Helper()
	compared, differ := map[string]int{}, map[string][]string{}
	for _, hash := range t.hashes() {
		c := caseOf(t.kept[hash])
		script := c.Script()
		compared[script]++
		if diff := c.Difference(); diff != "" {
			differ[script] = append(differ[script], diff)
		}
	}
	tb.Log(t.summary(compared))
	for script, all := range differ {
		short := slices.MinFunc(all, func(x, y string) int { return cmp.Compare(len(x), len(y)) })
		tb.Errorf("%s: %d of %d runs differ. One of them:\n%s", script, len(all), compared[script], short)
	}
	slices.Sort(scripts)
	if got := slices.Sorted(maps.Keys(compared)); !slices.Equal(got, scripts) {
		tb.Errorf("runs of %v were compared, want %v", got, scripts)
	}
}

// summary says how many runs of which scripts were compared.
func (t *Tie[R]) summary(compared map[string]int) string {
	var parts []string
	sum := 0
	for _, script := range slices.Sorted(maps.Keys(compared)) {
		parts = append(parts, fmt.Sprintf("%d of %s", compared[script], script))
		sum += compared[script]
	}
	share := ""
	if t.below != 1<<64-1 || len(t.kept) > t.most {
		share = fmt.Sprintf(", by chance, of about %.0f", float64(sum)/float64(t.hashes()[sum-1])*(1<<64))
	}
	return fmt.Sprintf("%d distinct runs were compared%s: %s", sum, share, strings.Join(parts, ", "))
}
