package quorum

import (
	"context"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
)

// Hooks that are not set cost no allocation, whatever happens. TestAllocations has what the whole of an operation costs.
func TestHooksCostNothing(t *testing.T) {
	ctx, began := context.Background(), clock.Now()
	o := &obtaining{quorum: &Client{}, want: want{set: redislock.Set{Write: []string{"k"}}}}
	l := &Lock{quorum: &Client{}, obtained: began}
	got := testing.AllocsPerRun(100, func() {
		o.begins(ctx, redislock.ErrNotObtained)
		o.ends(ctx, nil, nil)
		o.ends(ctx, nil, redislock.ErrNotObtained)
		l.report(ctx, l.quorum.hooks.Released, began, told{attempts: 1, err: redislock.ErrNotObtained})
	})
	if got != 0 || o.keys != nil {
		t.Errorf("got %v allocations, and keys %v", got, o.keys)
	}
}
