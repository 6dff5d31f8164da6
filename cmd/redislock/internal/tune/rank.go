package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
)

// A result is what was seen of one policy.
type result struct {
	policy
	slices []measure.Part
	all    measure.Part // all of them together
	costs  [][]float64  // see costsOf; of a ranking
	score  float64      // how many times as bad as the best; of a ranking
}

// add enters a slice.
func (r *result) add(s measure.Part) {
	r.slices = append(r.slices, s)
	r.all.Add(s)
}

// each divides among the locks that were had. A slice in which nobody had one counts as if there had been half a lock.
func each(s *measure.Part, sum float64) float64 { return sum / (float64(s.Total()) + .5) }

// A metric is what policies are compared by: the more, the worse.
type metric struct {
	of func(s *measure.Part, floor time.Duration) float64
	// better says by how much a policy is better than another one, of whose metric its own is the better by this ratio.
	better func(good, bad *measure.Part, ratio float64) string
}

// metrics are what there is to say about a policy. All but the last make up the score. That one is the longest waits: in a
// single slice they are too much a matter of chance, and they follow from the mean wait and the fairness.
var metrics = []metric{
	{
		func(s *measure.Part, _ time.Duration) float64 { return each(s, s.Length.Seconds()) },
		func(_, _ *measure.Part, ratio float64) string { return times(ratio) + " as many acquisitions" },
	},
	{
		waited,
		func(_, _ *measure.Part, ratio float64) string { return times(ratio) + " less waiting for each lock" },
	},
	{
		func(s *measure.Part, _ time.Duration) float64 { return each(s, float64(max(s.Commands, 1))) },
		func(good, bad *measure.Part, _ float64) string {
			return fmt.Sprintf("%.1f commands fewer for each acquisition", bad.CommandsEach()-good.CommandsEach())
		},
	},
	{
		func(s *measure.Part, _ time.Duration) float64 { return 1 / fairness(s) },
		func(good, bad *measure.Part, _ float64) string {
			return fmt.Sprintf("a fairness of %.2f instead of %.2f", fairness(good), fairness(bad))
		},
	},
	{
		func(s *measure.Part, _ time.Duration) float64 { return each(s, float64(s.Total()+s.Refused)+.5) },
		func(good, bad *measure.Part, _ float64) string {
			return fmt.Sprintf("%.0f %% of its attempts in vain instead of %.0f %%", inVain(good), inVain(bad))
		},
	},
	{long, shorterWaits},
}

// scored is how many metrics make up the score.
var scored = len(metrics) - 1

// waited is for how many seconds was waited for each lock, by all workers together. Waits below the floor count as that: nobody
// notices the difference.
func waited(s *measure.Part, floor time.Duration) float64 {
	return max(time.Duration(each(s, float64(s.Waits.Sum))), floor).Seconds()
}

// long is the wait in seconds that one in a hundred exceeds, with the same floor.
func long(s *measure.Part, floor time.Duration) float64 {
	d, _ := s.Waits.Quantile(.99)
	return max(d, floor).Seconds()
}

// fairness is never zero: if nobody has had anything all have had the same.
func fairness(s *measure.Part) float64 {
	return cmp.Or(s.Fairness(), 1/float64(max(len(s.Turns), 1)))
}

// floorOf is below which the length of a wait makes no difference.
func floorOf(l *measure.Load) time.Duration { return max(l.Mean()/10, 100*time.Microsecond) }

// costsOf are the logarithms of each metric, slice by slice, and at the end those of the geometric mean of the metrics that make up
// the score.
func (r *result) costsOf(floor time.Duration) [][]float64 {
	all := make([][]float64, len(metrics)+1)
	for i := range r.slices {
		sum := 0.
		for j, m := range metrics {
			cost := math.Log(m.of(&r.slices[i], floor))
			all[j] = append(all[j], cost)
			if j < scored {
				sum += cost
			}
		}
		all[score] = append(all[score], sum/float64(scored))
	}
	return all
}

// score is where that geometric mean stands among the costs.
var score = len(metrics)

// A ranking is what follows from all results.
type ranking struct {
	results []result      // the best first
	floor   time.Duration // see floorOf
	equal   int           // so many, from the first on, are not to be told apart
	worst   bool          // the last one is worse than every other one
}

// rank compares the policies, slice by slice.
func rank(results []result, floor time.Duration) ranking {
	r := ranking{results: slices.Clone(results), floor: floor, equal: 1}
	for i := range r.results {
		one := &r.results[i]
		one.costs = one.costsOf(floor)
		one.score = mean(one.costs[score])
	}
	slices.SortStableFunc(r.results, func(a, b result) int { return cmp.Compare(a.score, b.score) })
	last, best := len(r.results)-1, r.results[0].score
	for i := range r.results {
		r.results[i].score = math.Exp(r.results[i].score - best)
		if i > 0 && !r.differ(0, i, score) {
			r.equal = i + 1 // those between the two are not to be told apart, either
		}
	}
	r.worst = r.equal <= last && r.differ(last-1, last, score)
	return r
}

// differ reports whether one policy is better than another one beyond what slices differ among themselves.
func (r *ranking) differ(good, bad, metric int) bool {
	return beyondNoise(r.results[good].costs[metric], r.results[bad].costs[metric])
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// matters is by how much two have to differ for anybody to care, as a logarithm.
var matters = math.Log(1.05)

// beyondNoise reports whether what is bad costs more, in logarithms, than what is good: by enough to matter, and by more than
// chance would have it in one of a hundred cases. In a round both had the same load of the machine, so the differences of
// rounds are compared. Either their mean is far enough from zero for their spread (a paired t-test), or their median is: a few
// rounds in which the machine did something else change that but little.
func beyondNoise(good, bad []float64) bool {
	n := min(len(good), len(bad))
	if n < 2 {
		return false
	}
	differences := make([]float64, n)
	for i := range differences {
		differences[i] = bad[i] - good[i]
	}
	center, squares := mean(differences), 0.
	for _, d := range differences {
		squares += (d - center) * (d - center)
	}
	deviation := math.Sqrt(squares / float64(n-1) / float64(n))
	if center > matters && center > student(n-1)*deviation {
		return true
	}
	center = median(differences)
	for i, d := range differences {
		differences[i] = math.Abs(d - center)
	}
	return center > matters && center > robust(n)*median(differences)/math.Sqrt(float64(n))
}

// median is the value in the middle, or the mean of the two that are there.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// student is the quantile of Student's distribution beyond which one of a hundred lies, on both sides together.
func student(freedom int) float64 {
	table := []float64{63.66, 9.93, 5.85, 4.61, 4.04, 3.71, 3.50, 3.36, 3.25, 3.17, 3.11, 3.06, 3.02, 2.98, 2.95, 2.93, 2.90, 2.88, 2.87}
	return table[min(freedom, len(table))-1]
}

// robust is the same for the median of n values, divided by their median deviation from it and multiplied by the root of n. It
// was found by trying.
func robust(n int) float64 {
	for _, few := range []struct {
		below    int
		quantile float64
	}{{5, math.Inf(1)}, {6, 22.5}, {8, 13}, {10, 9.5}, {15, 8.1}, {30, 7}} {
		if n < few.below {
			return few.quantile
		}
	}
	return 5.7
}
