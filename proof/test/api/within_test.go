package api_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/seed-14de3678/redislock/internal/inctx"
)

// A context says whether its caller is a candidate, as it was told last.
func TestContextOfACandidate(t *testing.T) {
	t.Parallel()
	is, not := inctx.Candidate(t.Context(), true), inctx.Candidate(t.Context(), false)
	for name, c := range map[string]struct {
		ctx  context.Context
		want bool
	}{
		"nobody has said so": {t.Context(), false},
		"it is":              {is, true},
		"it is not":          {not, false},
		"not any more":       {inctx.Candidate(is, false), false},
		"it is by now":       {inctx.Candidate(not, true), true},
	} {
		if got := inctx.IsCandidate(c.ctx); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// The locks of a context come one after the other, the innermost first, until nobody wants another one.
func TestLocksOfAContext(t *testing.T) {
	t.Parallel()
	outer := inctx.With(t.Context(), inctx.Root{}, "outer")
	ctx := inctx.With(inctx.With(outer, inctx.Root{}, "middle"), inctx.Root{}, "inner")
	all := []any{"inner", "middle", "outer"}
	for n := range all {
		var got []any
		for lock := range inctx.Each(ctx) {
			if got = append(got, lock); len(got) == n+1 {
				break
			}
		}
		if !slices.Equal(got, all[:n+1]) {
			t.Errorf("got %v, want %v", got, all[:n+1])
		}
	}
	for lock := range inctx.Each(t.Context()) {
		t.Errorf("a context without locks has %v", lock)
	}
}

// The context of a lock that nobody has obtained has that lock under its own key, has ended, and is within no lock.
func TestContextOfNobodysLock(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	outer := inctx.With(t.Context(), inctx.Root{}, "outer")
	ctx := inctx.Nobodys(outer, inctx.Root{}, "nobodys", why)
	if got := ctx.Value(inctx.Root{}); got != "nobodys" {
		t.Errorf("got lock %v", got)
	}
	if got := inctx.Innermost(ctx); got != nil {
		t.Errorf("it is within %v", got)
	}
	if !errors.Is(context.Cause(ctx), why) {
		t.Errorf("got cause %v", context.Cause(ctx))
	}
}
