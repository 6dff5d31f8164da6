package plot

import (
	"cmp"
	"slices"
)

// spread returns the places of labels that want to be at want. No two are closer than gap; all are from top to bottom,
// in the order of want, and together as near to it as that allows. There must be room for them.
func spread(want []float64, gap, top, bottom float64) []float64 {
	order := make([]int, len(want))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(want[a], want[b]) })

	// Less its rank times gap, a label may be where the one before it is, but not before it. Labels that would be share
	// the mean of what they want: the least squares under that condition.
	type group struct{ sum, size float64 }
	var groups []group
	for rank, i := range order {
		last := group{want[i] - float64(rank)*gap, 1}
		for n := len(groups); n > 0 && groups[n-1].sum/groups[n-1].size > last.sum/last.size; n-- {
			last.sum += groups[n-1].sum
			last.size += groups[n-1].size
			groups = groups[:n-1]
		}
		groups = append(groups, last)
	}

	placed := make([]float64, len(want))
	lowest := bottom - float64(len(want)-1)*gap
	rank := 0
	for _, g := range groups {
		base := max(top, min(g.sum/g.size, lowest))
		for range int(g.size) {
			placed[order[rank]] = base + float64(rank)*gap
			rank++
		}
	}
	return placed
}

// thin returns which labels, at ascending positions, are shown: as many as have gap between them, and always the last
// one.
func thin(at []float64, gap float64) []bool {
	shown := make([]bool, len(at))
	if len(at) == 0 {
		return shown
	}
	last := len(at) - 1
	shown[last] = true
	for i, free := 0, at[0]; i < last; i++ {
		if at[i] >= free && at[last]-at[i] >= gap {
			shown[i] = true
			free = at[i] + gap
		}
	}
	return shown
}
