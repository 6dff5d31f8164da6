package tree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// changing is a server that shows one state after the other.
func changing(t *testing.T, states ...[]redislock.KeyState) inspect {
	t.Helper()
	return func(ctx context.Context, keys []string) ([]redislock.KeyState, error) {
		if len(states) == 0 {
			t.Error("a fourth look")
			return nil, errors.New("no more")
		}
		now := states[0]
		states = states[1:]
		return unchanged(now)(ctx, keys)
	}
}

// What is no deadlock any more when it is looked at again never was one. The file has situations at three looks.
func TestChangesInBetween(t *testing.T) {
	t.Parallel()
	eachRow(t, "testdata/changes.txt", func(t *testing.T, fields []string) string {
		look := changing(t, statesOf(fields[1]), statesOf(fields[2]))
		return strings.Join(check.Must[*view](t)(newView(t.Context(), statesOf(fields[0]), look, newMarker(nil), 0)).told(), "; ")
	})
}

// A holder that has obtained the key anew is another one.
func TestHolderSince(t *testing.T) {
	t.Parallel()
	first := statesOf("a w A < B:w1", "b w B < A:w2")
	second := statesOf("a w A < B:w1", "b w B < A:w2")
	second[0].Holders[0].Since = start
	v, err := newView(t.Context(), first, changing(t, second, second), newMarker(nil), 0)
	if err != nil || len(v.deadlocks) > 0 {
		t.Errorf("deadlocks %v, error %v", v.told(), err)
	}
}

// Only what may have to do with a deadlock is read again, and nothing where there is none.
func TestLooksAgain(t *testing.T) {
	t.Parallel()
	for states, want := range map[string]string{
		"a w A < B:w1; b w C < A:w2":                                    "",
		"a w A < B:w1; b w B < A:w2; c w C < D:w3":                      "a b a b",
		"a w A < B:w1; b w B < A:w2; c w C < A:w2; d w A; e w A < D:w4": "a b c e a b c e",
	} {
		all := statesOf(states)
		var read []string
		_, err := newView(t.Context(), all, func(ctx context.Context, keys []string) ([]redislock.KeyState, error) {
			read = append(read, keys...)
			return unchanged(all)(ctx, keys)
		}, newMarker(nil), 0)
		if got := strings.Join(read, " "); err != nil || got != want {
			t.Errorf("%s: %q was read again, want %q; error %v", states, got, want, err)
		}
	}
}

func TestSettleFails(t *testing.T) {
	t.Parallel()
	states, failed := statesOf("a w A < B:w1", "b w B < A:w2"), errors.New("it fails")
	_, err := newView(t.Context(), states, func(context.Context, []string) ([]redislock.KeyState, error) { return nil, failed }, newMarker(nil), 0)
	if !errors.Is(err, failed) {
		t.Errorf("got error %v, want that of the second look", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(failed)
	if _, err := newView(ctx, states, unchanged(states), newMarker(nil), time.Hour); !errors.Is(err, failed) {
		t.Errorf("got error %v, want the cause of the context", err)
	}
}

func TestBoth(t *testing.T) {
	t.Parallel()
	name := func(s string) string { return s }
	if got := both([]string{"a", "b", "a", "c"}, []string{"a", "a", "a", "c", "d"}, name); !slices.Equal(got, []string{"a", "a", "c"}) {
		t.Errorf("got %v", got)
	}
}
