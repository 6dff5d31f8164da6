// Package turns_test has the tests of how turns are counted, and how long callers wait for them.
package turns_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/turns"
)

const ms = time.Millisecond

func TestQuantile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		ended, cut []time.Duration
		q          float64
		want       time.Duration
		bound      bool
	}{
		{"of nothing", nil, nil, .5, 0, false},
		{"of one", []time.Duration{7 * ms}, nil, .5, 7 * ms, false},
		{"middle", []time.Duration{1 * ms, 2 * ms, 3 * ms, 4 * ms}, nil, .5, 2 * ms, false},
		{"high", []time.Duration{1 * ms, 2 * ms, 3 * ms, 4 * ms}, nil, .99, 4 * ms, false},
		{"order does not matter", []time.Duration{4 * ms, 1 * ms, 3 * ms, 2 * ms}, nil, .75, 3 * ms, false},
		{"short", []time.Duration{0, 10}, nil, .5, 10, false},
		{"all cut", nil, []time.Duration{3 * ms, 5 * ms}, .5, 5 * ms, true},
		// Of four that were seen for 2 ms, half ended there: what became of the one that was cut at 1 ms is not known.
		{"one cut early", []time.Duration{2 * ms, 2 * ms, 9 * ms, 9 * ms}, []time.Duration{1 * ms}, .5, 2 * ms, false},
		// Without those cut at 1 ms the middle would be 2 ms, and with them as if they had ended it would be 1 ms.
		{"many cut", []time.Duration{2 * ms, 4 * ms, 8 * ms}, []time.Duration{1 * ms, 1 * ms, 1 * ms}, .5, 4 * ms, false},
		{"the longest were cut", []time.Duration{2 * ms, 4 * ms}, []time.Duration{5 * ms, 5 * ms}, .99, 5 * ms, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var w turns.Waits
			for _, d := range tt.ended {
				w.Add(d, false)
			}
			for _, d := range tt.cut {
				w.Add(d, true)
			}
			got, bound := w.Quantile(tt.q)
			if near := math.Abs(float64(got-tt.want)) <= float64(tt.want)/100+10; !near || bound != tt.bound {
				t.Errorf("got %v %t, want %v %t", got, bound, tt.want, tt.bound)
			}
		})
	}
}

func TestWaitsAreJoined(t *testing.T) {
	t.Parallel()
	var all, joined, received turns.Waits
	var parts [2]turns.Waits
	for i := range 50 {
		d := time.Duration(i*i) * ms
		all.Add(d, i%7 == 0)
		parts[i%2].Add(d, i%7 == 0)
	}
	text := check.Must[[]byte](t)(json.Marshal(parts[1])) // as it comes from another process
	check.NoError(t, json.Unmarshal(text, &received))
	for _, w := range []turns.Waits{parts[0], received, {}} {
		joined.Join(w)
	}
	if diff := cmp.Diff(joined, all); diff != "" {
		t.Error(diff)
	}
	if n, cut := counted(joined.Ended), counted(joined.Cut); n != 42 || cut != 8 {
		t.Errorf("%d, and %d cut", n, cut)
	}
	if !all.MostCut { // 7 divides 49
		t.Error("it is not known that the longest one was cut")
	}
}

func counted(steps map[int]int) (sum int) {
	for _, n := range steps {
		sum += n
	}
	return sum
}

// Callers of the same time come one behind the other, and times of the same callers are added.
func TestShares(t *testing.T) {
	t.Parallel()
	var one, other, both, all turns.Shares
	one.Enter(turns.Had{Turns: 3, Refused: 1, Waits: turns.Waits{Sum: 4, Most: 4}})
	one.Enter(turns.Had{Turns: 1})
	other.Enter(turns.Had{Turns: 2, Waits: turns.Waits{Sum: 5, Most: 5}})
	both.Join(one)
	both.Join(other)
	for range 2 {
		all.Add(both)
	}
	want := turns.Shares{Turns: []int{6, 2, 4}, Refused: 2, Waits: turns.Waits{Sum: 18, Most: 5}}
	if diff := cmp.Diff(all, want); diff != "" || all.Total() != 12 || both.Total() != 6 {
		t.Errorf("totals %d and %d: %s", all.Total(), both.Total(), diff)
	}
}

func TestFairness(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		shares []int
		want   float64
	}{
		{nil, 0},
		{[]int{0, 0}, 0},
		{[]int{5, 5, 5, 5}, 1},
		{[]int{8, 0, 0, 0}, 0.25},
		{[]int{3, 1}, 0.8},
	} {
		if got := (&turns.Shares{Turns: tt.shares}).Fairness(); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("fairness of %v is %v, want %v", tt.shares, got, tt.want)
		}
	}
}

// What a caller had is counted by how its attempts ended, from one reading to the next.
func TestTry(t *testing.T) {
	t.Parallel()
	refusal, broken := errors.New("refused"), errors.New("broken")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var c turns.Caller
	for _, tt := range []struct {
		name           string
		refusal        error // that the caller takes
		ctx            context.Context
		obtained, used error
		want           error
		counts         []int // turns, refused, ended, cut
	}{
		{"granted", refusal, t.Context(), nil, nil, nil, []int{1, 0, 1, 0}},
		{"granted at the end", refusal, over, nil, nil, nil, []int{1, 0, 1, 0}},
		{"used in vain", refusal, t.Context(), nil, broken, broken, []int{1, 0, 1, 0}},
		{"refused", refusal, t.Context(), fmt.Errorf("key: %w", refusal), nil, nil, []int{0, 1, 1, 0}},
		{"failed", refusal, t.Context(), broken, nil, broken, []int{0, 0, 1, 0}},
		{"cut short", refusal, over, context.Canceled, nil, nil, []int{0, 0, 0, 1}},
		{"not to be refused", nil, t.Context(), refusal, nil, refusal, []int{0, 0, 1, 0}},
	} {
		c.Refusal = tt.refusal
		obtain := func(context.Context) (int, error) { return 7, tt.obtained }
		err := turns.Try(tt.ctx, &c, obtain, func(lock int) error {
			if lock != 7 {
				t.Errorf("%s: used %d, want what was obtained", tt.name, lock)
			}
			return tt.used
		})
		if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: got error %v, want %v", tt.name, err, tt.want)
		}
		had := c.Read()
		if diff := cmp.Diff([]int{had.Turns, had.Refused, counted(had.Waits.Ended), counted(had.Waits.Cut)}, tt.counts); diff != "" {
			t.Errorf("%s: turns, refused, ended, cut: %s", tt.name, diff)
		}
	}
}
