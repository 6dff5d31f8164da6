package reentrant_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/seed-14de3678/redislock/reentrant"
)

// failures stands in for a *testing.T, and only notes what fails it.
type failures []string

func (p *failures) Helper() {}

func (p *failures) Errorf(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func TestCheckReleased(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		var p failures
		outer := w.obtain(t, w.ctx, long, nil, "a", "b")
		inner, err := reentrant.ObtainRead(w.ctx, w.client, w.keys("b"), long, nil)
		noError(t, err)
		noError(t, outer.Release(t.Context())) // the key goes on being held: by the one that was forgotten
		reentrant.CheckReleased(&p, w.ctx)
		want := regexp.MustCompile(`^reentrant: not released: ".*:b", obtained at check_test\.go:\d+$`)
		if len(p) != 1 || !want.MatchString(p[0]) {
			t.Errorf("got %q, want one that matches %v", p, want)
		}
		noError(t, inner.Release(t.Context()))

		p = nil
		reentrant.CheckReleased(&p, w.ctx)
		if len(p) != 0 {
			t.Errorf("got %q after the release", p)
		}
		reentrant.CheckReleased(&p, t.Context())
		if len(p) != 1 {
			t.Errorf("got %q for a context without an owner, want that said", p)
		}
	})
}

func TestCheckReleasedNamesAll(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		for gone := range 3 { // the first, the middle and the last of three
			var holds []*reentrant.Hold
			for range 3 {
				holds = append(holds, w.obtain(t, w.ctx, long, nil, "a"))
			}
			noError(t, holds[gone].Release(t.Context()))
			var p failures
			reentrant.CheckReleased(&p, w.ctx)
			if len(p) != 2 {
				t.Errorf("got %q, want 2", p)
			}
			for i, hold := range holds {
				if i != gone {
					noError(t, hold.Release(t.Context()))
				}
			}
		}
	})
}
