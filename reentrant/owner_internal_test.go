package reentrant

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// twoHolds is an owner with a hold of a and b, and one of a.
func twoHolds(t *testing.T) (o *owner, outer, inner *Hold) {
	t.Helper()
	client := redislock.New(redistest.StartMini(t).Client(t))
	t.Cleanup(client.Close)
	ctx := NewOwner(t.Context())
	var holds []*Hold
	for _, keys := range [][]string{{"a", "b", "c"}, {"a"}} {
		hold, err := Obtain(ctx, client, keys, time.Minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		holds = append(holds, hold)
	}
	return ownerOf(ctx), holds[0], holds[1]
}

// The last hold of a carrier is released while some of its keys are about to be: they come first.
func TestFreePartBeforeAll(t *testing.T) {
	o, outer, inner := twoHolds(t)
	o.mu.Lock()
	part := o.unpinLocked(outer.entries)
	o.mu.Unlock()
	released := make(chan error, 1)
	go func() { released <- inner.Release(context.Background()) }()
	select {
	case err := <-released:
		t.Errorf("the carrier was released before a part of it: %v", err)
		released <- err
	case <-time.After(100 * time.Millisecond):
	}
	if err := o.free(t.Context(), part); err != nil {
		t.Errorf("got error %v", err)
	}
	if err := <-released; err != nil {
		t.Errorf("got error %v", err)
	}
}

// An entry that stays in the table, because its carrier seemed lost in between, stays with the carrier, too: otherwise it
// would never be removed.
func TestFreeKeepsWhatStays(t *testing.T) {
	o, outer, inner := twoHolds(t)
	o.mu.Lock()
	stays := outer.entries[2]
	stays.holds, stays.carrier.live = 0, stays.carrier.live-1
	part := o.unpinLocked(outer.entries[1:2])
	o.mu.Unlock()
	if err := o.free(t.Context(), part); err != nil {
		t.Errorf("got error %v", err)
	}
	o.mu.Lock()
	outer.entries[0].holds-- // that of outer
	o.mu.Unlock()
	if err := inner.Release(t.Context()); err != nil {
		t.Errorf("got error %v", err)
	}
	if len(o.entries) > 0 {
		t.Errorf("%d entries are left", len(o.entries))
	}
}
