package multi

import (
	"context"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
)

// Without hooks nothing is measured, and nothing is allocated.
func TestNoHooksCostNothing(t *testing.T) { //nolint:paralleltest // it counts allocations
	parts := []Part{{Set: redislock.Set{Write: []string{"a"}}}, {Set: redislock.Set{Read: []string{"b"}}}}
	l, ctx := &Lock{}, context.Background()
	allocated := testing.AllocsPerRun(100, func() {
		o := obtaining{parts: parts, events: newEvents(redislock.Hooks{}, parts, &o0)}
		o.waitsNow(ctx, nil)
		o.report(ctx, l, nil)
		l.events = o.events
		if began := l.events.now(); began != (clock.Moment{}) {
			t.Error("the time is measured")
		}
		l.tellLost(redislock.ErrLockLost)
		l.events.tell(ctx, l.events.told().Released, redislock.Event{Held: l.events.since(clock.Now())})
	})
	if allocated != 0 {
		t.Errorf("got %v allocations, want none", allocated)
	}
}

var o0 redislock.Options
