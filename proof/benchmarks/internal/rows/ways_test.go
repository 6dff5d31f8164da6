package rows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// Each way has both figures for each number of waiters.
func TestWays(t *testing.T) {
	t.Parallel()
	redistest.Need(t, "redis-server")
	s := &stage{plan: measure.Plan{Blocks: 1, Length: 5 * time.Millisecond}}
	defer s.clear()
	r, err := ways(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for _, f := range r.figures {
		at[f.Metric]++
		if !(f.Value.Median > 0) {
			t.Errorf("%s at %d, %s: got %v", f.By, f.At, f.Metric, f.Value)
		}
	}
	if want := 6 * len(waitFor); at[HandOff] != want || at[measure.Calls.Name] != want {
		t.Errorf("got %v figures, want %d of each", at, want)
	}
}

// What is obtained is noted, and then held; what is refused is neither.
func TestHandOffs(t *testing.T) {
	t.Parallel()
	h := &handOffs{}
	var refused error
	take := h.noting(func(context.Context, int) (*redislock.Lock, error) { return nil, refused })
	for _, refused = range []error{nil, redislock.ErrNotObtained, nil} {
		if _, err := take(t.Context(), 0); !errors.Is(err, refused) {
			t.Errorf("got %v, want %v", err, refused)
		}
	}
	if len(h.took) != 2 || h.free.Load() < int64(2*time.Millisecond) {
		t.Errorf("got hand-offs %v, and the key is free after %v ns, want two, and both were held", h.took, h.free.Load())
	}
	h.took = []float64{7, 1, 3}
	if got := h.median(); got != 3 || len(h.took) != 0 {
		t.Errorf("got %v, and %v are kept, want 3 and none", got, h.took)
	}
}
