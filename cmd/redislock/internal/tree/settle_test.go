package tree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
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

// What is no deadlock any more when it is looked at again never was one.
func TestChangesInBetween(t *testing.T) {
	t.Parallel()
	const (
		circle   = "a w A < B:w1; b w B < A:w2"
		process  = "a w p < q:w1; b w q < p:w2"
		other    = "a w A < B:w1 ; b w B < A:w2; c w X < A:w3"
		followed = "a w A < B:w1 C:w9; b w B < A:w2"
	)
	for _, tt := range []struct{ name, first, second, third, want string }{
		{"nothing changes", circle, circle, circle, "certain A b B a A"},
		{"somebody comes", circle, followed, circle, "certain A b B a A"},
		{"gone the second time", circle, "a - ; b w B < A:w2", circle, ""},
		{"gone the third time", circle, circle, "a w A; b w B < A:w2", ""},
		{"another holder", circle, "a w C < B:w1; b w B < A:w2", circle, ""},
		{"it waits in another place", circle, "a w A < B:w1; b w B < A:w3", "a w A < B:w1; b w B < A:w3", ""},
		{"it waits anew the third time", circle, circle, "a w A < B:w1; b w B < A:w3", ""},
		{"gone in the meaning of the line", circle, circle, "a w A < B:w1; b w B < !A:w2", ""},
		{"a lock of another kind", circle, "a r A < B:w1; b w B < A:w2", circle, ""},
		{"a lock that was left", circle, "a w ~A < B:w1; b w B < A:w2", circle, ""},
		{"two processes that were busy", process, "a w q < q:w5; b w p < p:w6", process, ""},
		{"two processes", process, process, process, "possible p b q a p"},
		{"a second goroutine at first alone", other, circle + "; c w X", circle + "; c w X", "certain A b B a A"},
		{"a second goroutine later", circle + "; c w A < Y:w4", circle + "; c w A < Y:w4 A:w5", circle + "; c w A < Y:w4", "possible A b B a A"},
		{"an intent that is gone", "a r A < intent:B; b w B < A:w2", "a r A; b w B < A:w2", "a r A; b w B < A:w2", ""},
		{"the intent of another", "a r A < intent:B; b w B < A:w2", "a r A < intent:C; b w B < A:w2", "a r A < intent:B; b w B < A:w2", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := newView(t.Context(), statesOf(tt.first), changing(t, statesOf(tt.second), statesOf(tt.third)), newMarker(nil), 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(v.told(), "; "), tt.want); diff != "" {
				t.Errorf("deadlocks (-got +want):\n%s", diff)
			}
		})
	}
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
