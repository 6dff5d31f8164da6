package cost_test

import (
	"context"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// To look for the lock of a context allocates nothing. A context of a lock is one allocation more than one that cannot
// be asked for its lock.
func TestContextAllocations(t *testing.T) {
	client := world.NewClient(t, redistest.StartMini(t).Client(t))
	lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, world.Long, nil))
	type own struct{}
	ctx := context.WithValue(lock.Context(t.Context()), own{}, "what the caller has put there")
	for _, work := range []struct {
		name  string
		most  int
		cycle func()
	}{
		{"FromContext", 0, func() {
			if redislock.FromContext(ctx) != lock {
				t.Error("it is another lock")
			}
		}},
		{"FromContext without a lock", 0, func() {
			if redislock.FromContext(t.Context()) != nil {
				t.Error("there is a lock")
			}
		}},
		{"Lock.Context", 8, func() {
			ctx, cancel := context.WithCancel(t.Context())
			lock.Context(ctx)
			cancel()
		}},
	} {
		got := int(testing.AllocsPerRun(1000, work.cycle))
		t.Logf("%s: %d allocations, at most %d", work.name, got, work.most)
		if got > work.most {
			t.Errorf("%s: %d allocations, want at most %d", work.name, got, work.most)
		}
	}
}
