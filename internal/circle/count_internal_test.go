//go:build proof

package circle

import (
	"context"
	"slices"
	"testing"
)

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
