package measure

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// Sides are measured in turns, each round the other way round, after a round that does not count.
func TestInterleave(t *testing.T) {
	t.Parallel()
	var order strings.Builder
	side := func(name string) Side {
		return Side{
			Name: name, At: 3,
			Before: func(context.Context) error {
				order.WriteString("-")
				return nil
			},
			Block: func(_ context.Context, length time.Duration) (int, error) {
				order.WriteString(name)
				if length == time.Minute/9 {
					return 2, nil
				}
				return 1, nil
			},
		}
	}
	plan := For(time.Minute)
	results, err := Interleave(t.Context(), plan, []Side{side("a"), side("b")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := order.String(), "-a-b"+strings.Repeat("-a-b-b-a", 4)+"-a-b"; got != want {
		t.Errorf("got the order %s, want %s", got, want)
	}
	for i, name := range []string{"a", "b"} {
		r := results[i]
		if r.Name != name || r.At != 3 || len(r.Blocks) != plan.Blocks || r.Blocks[0].Ops != 2 {
			t.Errorf("got %+v, want %d whole blocks of %s", r, plan.Blocks, name)
		}
	}
}

func TestInterleaveFails(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	bad := Side{Name: "bad", At: 7, Block: func(context.Context, time.Duration) (int, error) { return 0, failed }}
	if _, err := Interleave(t.Context(), For(time.Second), []Side{bad}); !errors.Is(err, failed) || !strings.HasPrefix(err.Error(), "bad at 7: ") {
		t.Errorf("got %v, want what has failed with its side", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Interleave(over, For(time.Second), []Side{bad}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was ended", err)
	}
}

func TestRepeat(t *testing.T) {
	t.Parallel()
	done := 0
	block := Repeat(func(ctx context.Context) error {
		if ctx.Done() != nil {
			t.Error("the work can be given up")
		}
		done++
		return nil
	})
	for _, length := range []time.Duration{0, 5 * time.Millisecond} {
		done = 0
		if ops, err := block(t.Context(), length); err != nil || ops != done || ops < 1 {
			t.Errorf("for %s: got %d operations, %v; %d were done", length, ops, err, done)
		}
	}
}
