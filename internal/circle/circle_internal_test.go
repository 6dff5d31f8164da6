//go:build proof

package circle

import (
	"context"
	"errors"
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
