//go:build proof

package circle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

var errOver = errors.New("over")

func TestCircle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Circle
		parent, cancel := context.WithCancel(t.Context())
		first, second, third := c.Join(t.Context()), c.Join(parent), c.Join(first(t))
		cancel()
		for _, ctx := range []context.Context{first, third} {
			if ctx.Err() != nil {
				t.Errorf("a context has ended with another one: %v", context.Cause(ctx))
			}
		}
		c.End(errOver)
		c.End(errors.New("once more"))
		late := c.Join(t.Context())
		for i, ctx := range []context.Context{first, third, late} {
			if got := context.Cause(ctx); got != errOver { //nolint:errorlint // it is this value
				t.Errorf("got cause %v of context %d, want %v", got, i, errOver)
			}
		}
		if got := context.Cause(second); !errors.Is(got, context.Canceled) {
			t.Errorf("got cause %v of one that had ended before", got)
		}
		if len(c.members) != 0 {
			t.Errorf("%d members are left", len(c.members))
		}
	})
}

// Members that have ended are dropped when their number has doubled, and no others.
func TestCircleForgets(t *testing.T) {
	t.Parallel()
	var c Circle
	stays := c.Join(t.Context())
	for range 10_000 {
		ctx, cancel := context.WithCancel(t.Context())
		c.Join(ctx)
		cancel()
		if len(c.members) > fewest {
			t.Fatalf("got %d members, of which one has not ended, want at most %d", len(c.members), fewest)
		}
	}
	var all []context.Context
	for range 1000 {
		all = append(all, c.Join(t.Context()))
	}
	c.End(errOver)
	for _, ctx := range append(all, stays) {
		if ctx.Err() == nil {
			t.Fatal("a context goes on")
		}
	}
}

// first is a context with a value, which a member keeps.
func first(t *testing.T) context.Context {
	t.Helper()
	return context.WithValue(t.Context(), errOver, true)
}

// Contexts that come and go while the circle ends all end.
func TestCircleRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Circle
		for range 100 {
			go func() {
				for range 10 {
					ctx, cancel := context.WithCancel(t.Context())
					joined := c.Join(ctx)
					go cancel()
					<-joined.Done()
					<-c.Join(t.Context()).Done() // which only the circle ends
				}
			}()
		}
		synctest.Wait()
		c.End(errOver)
		synctest.Wait() // nobody is left waiting when the bubble ends
	})
}

// Members that have ended are looked for when there are 16, and after that whenever there are twice as many as the look
// before has left.
func TestCircleLooksNowAndThen(t *testing.T) {
	t.Parallel()
	const stay, come = 5, 40
	var c Circle
	for range stay {
		c.Join(t.Context())
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var got []int // at which Join a look has dropped members, and how many were there then
	for i := range come {
		before := len(c.members)
		if c.Join(gone); len(c.members) <= before {
			got = append(got, i+1, before)
		}
	}
	if want := []int{12, 16, 23, 16, 34, 16}; !slices.Equal(got, want) {
		t.Errorf("members were dropped at these times, of so many: %d, want %d", got, want)
	}
	var large Circle
	for range 20 {
		large.Join(t.Context())
	}
	for range 12 { // the look at the 17th has left 16, so the next one is at 32
		large.Join(gone)
	}
	if n := len(large.members); n != 32 {
		t.Errorf("got %d members, want all 32", n)
	}
	if large.Join(gone); len(large.members) != 21 {
		t.Errorf("%d members are left, want the 20 that go on, and the latest", len(large.members))
	}
}
