package tune

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
	"github.com/seed-14de3678/redislock/internal/turns"
)

// seen makes a slice of a second, with as many waits as locks.
func seen(acquired []int, commands int64, wait time.Duration, gaveUp int) measure.Part {
	s := measure.Part{
		Shares: turns.Shares{Turns: acquired, Refused: gaveUp}, Commands: commands, Length: time.Second,
	}
	for range s.Total() {
		s.Waits.Add(wait, false)
	}
	return s
}

// A slicer makes a slice, and has values differ by chance.
type slicer func(by func(float64) float64) measure.Part

// played makes a result of slices that differ by chance, by some share.
func played(name string, random *rand.Rand, rounds int, chance float64, s slicer) result {
	r := result{policy: policy{Name: name, Spec: name}}
	for range rounds {
		r.add(s(func(v float64) float64 { return v * (1 + chance*(2*random.Float64()-1)) }))
	}
	return r
}

// usual is a slice of a policy with one worker.
func usual(rate, commands, wait float64) slicer {
	return func(by func(float64) float64) measure.Part {
		n := int(by(rate))
		return seen([]int{n, n}, int64(by(commands*2*rate)), time.Duration(by(wait*float64(ms))), 0)
	}
}

func TestRanking(t *testing.T) {
	t.Parallel()
	a := usual(100, 2, 10)
	nothing := func(func(float64) float64) measure.Part { return seen([]int{0, 0}, 10, 0, 500) }
	unfair := func(by func(float64) float64) measure.Part {
		return seen([]int{int(by(200)), 0}, int64(by(400)), 10*ms, 0)
	}
	for _, tt := range []struct {
		name    string
		slices  []slicer // of the policies a, b and c
		chance  float64
		take    string // in alphabetical order, if they are several
		worst   string
		because string // in the sentences
	}{
		{"one best, one worst", []slicer{a, usual(90, 10, 12), usual(20, 40, 100)}, .05, "a", "c", `Take a: .* commands fewer for each acquisition.*\nThe worst is c: a has .* 10 times shorter`},
		{"two equal, one worst", []slicer{a, a, usual(20, 40, 100)}, .1, "a b", "c", `no difference between .* beyond what the slices differ among themselves.*and none of the others.*\nThe worst is c`},
		{"all equal", []slicer{a, a, a}, .1, "a b c", "", `There is no difference between `},
		{"two equally bad", []slicer{a, usual(10, 20, 100), usual(10, 20, 100)}, .1, "a", "", `Take a: .*\nWhich one is the worst is not certain\.$`},
		{"hidden by noise", []slicer{a, usual(90, 2.1, 11)}, .9, "a b", "", `There is no difference`},
		{"too little to matter", []slicer{usual(1000, 2, 10), usual(990, 2.01, 10.1)}, .0001, "a b", "", `There is no difference`},
		{"nobody gets anything", []slicer{a, nothing}, .05, "a", "b", `0 % of its attempts in vain instead of 100 %(.|\n)*The worst is b`},
		{"one has it all", []slicer{a, unfair}, .05, "a", "b", `a fairness of 1\.00 instead of 0\.50`},
		{"better and worse", []slicer{usual(100, 2, 50), usual(100, 30, 10), usual(3, 300, 1000)}, .05, "a", "c", `commands fewer for each acquisition than b \(which has 5\..* less waiting for each lock and a p99 of the wait that is 5\.`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, uint64(len(tt.name))))
			var results []result
			for i, s := range slices.Backward(tt.slices) {
				results = append(results, played("abc"[i:i+1], random, 10, tt.chance, s))
			}
			r := rank(results, ms)
			var take []string
			for _, one := range r.results[:r.equal] {
				take = append(take, one.Name)
			}
			slices.Sort(take)
			worst := ""
			if r.worst {
				worst = r.results[len(r.results)-1].Name
			}
			text := strings.Join(r.advice(), "\n")
			if got := strings.Join(take, " "); got != tt.take || worst != tt.worst {
				t.Errorf("take %q, worst %q, want %q, %q\n%s", got, worst, tt.take, tt.worst, text)
			}
			if !regexp.MustCompile(tt.because).MatchString(text) {
				t.Errorf("no %q in\n%s", tt.because, text)
			}
			if best := r.results[0].score; best != 1 {
				t.Errorf("the best has the score %v", best)
			}
		})
	}
}

// Of two policies that are the same, one is called better in few of many runs.
func TestChanceIsNoWinner(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	const runs = 300
	for _, rounds := range []int{5, 8, 12} {
		winners := 0
		for range runs {
			s := usual(200, 3, 10)
			r := rank([]result{played("a", random, rounds, .6, s), played("b", random, rounds, .6, s)}, ms)
			if r.equal == 1 {
				winners++
			}
		}
		if winners > runs*3/100 {
			t.Errorf("a winner in %d of %d runs of %d rounds", winners, runs, rounds)
		}
	}
}

func TestBeyondNoise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		good, bad []float64
		want      bool
	}{
		{[]float64{1, 1, 1, 1, 1}, []float64{2, 2, 2, 2, 2}, true},
		{[]float64{2, 2, 2, 2, 2}, []float64{1, 1, 1, 1, 1}, false},
		{[]float64{1, 1, 1, 1, 1}, []float64{1.04, 1.04, 1.04, 1.04, 1.04}, false}, // it does not matter
		{[]float64{1, 5, 9, 3, 7}, []float64{2, 6, 10, 4, 8}, true},                // in each round the same
		{[]float64{1, 5, 9, 3, 7}, []float64{8, 2, 6, 10, 4}, false},
		{[]float64{1}, []float64{9}, false},                                    // one round says nothing
		{make([]float64, 8), []float64{1.1, .9, 1, 1, .95, 1.05, 1, 30}, true}, // one was disturbed
		{make([]float64, 8), []float64{1.1, .1, 2, 1, -.5, .3, 1, 30}, false},
		{make([]float64, 4), []float64{1, 1, 1, 9}, false}, // too few to tell
		{nil, nil, false},
	} {
		if got := beyondNoise(tt.good, tt.bad); got != tt.want {
			t.Errorf("%v and %v: %t, want %t", tt.good, tt.bad, got, tt.want)
		}
	}
	for freedom := 2; freedom < 60; freedom++ {
		if now, before := student(freedom), student(freedom-1); now > before || now < 2.5 {
			t.Errorf("quantile %v of %d, and %v before", now, freedom, before)
		}
	}
}

// One of a hundred lies beyond the quantile, or somewhat fewer where so many rounds are not expected.
func TestStudent(t *testing.T) {
	t.Parallel()
	for freedom := 1; freedom < 60; freedom++ {
		least := .0098
		if freedom > 19 {
			least = .005
		}
		if got := beyond(student(freedom), freedom); got > .01005 || got < least {
			t.Errorf("with %d degrees of freedom %.5f lie beyond %v, want 0.01", freedom, got, student(freedom))
		}
	}
}

// beyond is how much of Student's distribution lies beyond a value, on both sides together: Abramowitz and Stegun, 26.7.3 and 4.
func beyond(value float64, freedom int) float64 {
	angle := math.Atan(value / math.Sqrt(float64(freedom)))
	cos2 := math.Cos(angle) * math.Cos(angle)
	term, sum := 1., 0.
	if freedom%2 == 1 {
		term = math.Cos(angle)
	}
	for i := 1 + freedom%2; i < freedom; i += 2 {
		sum += term
		term *= float64(i) / float64(i+1) * cos2
	}
	within := math.Sin(angle) * sum
	if freedom%2 == 1 {
		within = (angle + within) * 2 / math.Pi
	}
	return 1 - within
}

func TestBars(t *testing.T) {
	t.Parallel()
	var r ranking
	for i, v := range []float64{3, 1.5, .001, 0} {
		r.results = append(r.results, result{policy: policy{Name: "abcd"[i : i+1]}, all: measure.Part{Length: time.Duration(v * 1000)}})
	}
	got := r.bars(chart{"title", func(s *measure.Part) (float64, string) { return float64(s.Length), "v" }}, "#")
	name := func(letter string) string { return "  " + letter + strings.Repeat(" ", mostName) }
	want := []string{
		"title", name("a") + strings.Repeat("#", barWidth) + " v", name("b") + strings.Repeat("#", barWidth/2) + " v", name("c") + "# v", name("d") + " v",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 0.004: "0.00", 1: "1.00", 9.99: "9.99", 9.996: "10.0", 99.9: "99.9", 99.96: "100", 1234: "1234"} {
		if got := number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if got := bounded(25*ms, true); got != ">25ms" {
		t.Errorf("a bound is %s", got)
	}
}
