package quick_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/pace"
)

var errOver = errors.New("over")

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := pace.Within(time.Minute, errOver)
		time.Sleep(20 * time.Second)
		if left := limit.Left(); left != 40*time.Second {
			t.Errorf("got %v left, want 40 s", left)
		}
		began := time.Now()
		ctx, cancel := limit.Context(t.Context(), 0)
		defer cancel()
		<-ctx.Done()
		if got := context.Cause(ctx); got != errOver || time.Since(began) != 40*time.Second { //nolint:errorlint // it is this value
			t.Errorf("got cause %v after %v", got, time.Since(began))
		}
		if left := limit.Left(); left != time.Microsecond {
			t.Errorf("got %v left when it is over, want a microsecond", left)
		}
		began = time.Now()
		ctx, cancel = limit.Context(t.Context(), pace.OneStep)
		defer cancel()
		<-ctx.Done()
		if took := time.Since(began); took != pace.OneStep {
			t.Errorf("a step has %v when it is over, want %v", took, pace.OneStep)
		}
	})
}

// Without a limit nothing is bounded, and nothing is allocated.
func TestNoLimit(t *testing.T) { //nolint:paralleltest // it counts allocations
	ctx := context.Background()
	allocated := testing.AllocsPerRun(100, func() {
		limit := pace.Within(0, errOver)
		same, cancel := limit.Context(ctx, pace.OneStep)
		cancel()
		if limit.Left() != 0 || same != ctx || same.Err() != nil {
			t.Errorf("got %v left", limit.Left())
		}
	})
	if allocated != 0 {
		t.Errorf("got %v allocations, want none", allocated)
	}
}

func TestOnWaiting(t *testing.T) {
	t.Parallel()
	var got error
	pace.Waits(t.Context(), errOver) // to nobody
	pace.Waits(pace.OnWaiting(t.Context(), func(why error) { got = why }), errOver)
	if got != errOver { //nolint:errorlint // it is this value
		t.Errorf("got %v, want %v", got, errOver)
	}
}
