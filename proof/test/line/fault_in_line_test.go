package line_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Who stands in line goes on whatever its strategy says if replicas do not confirm what the server has answered, also while its
// caller holds other keys: the server answers.
func TestQueueIsNotReplicated(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		asked := 0
		p := &world.FakeServer{Script: func(run check.Run) string {
			switch {
			case world.AsksFirst(run):
				return world.HeldBySomebody
			case world.StandsInLine(run):
				if asked++; asked == 1 {
					return world.InPlace(1, 1)
				}
			}
			return ":1\r\n"
		}}
		client := world.NewClient(t, p.Client(t), redislock.WithReplicas(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		opt := &redislock.Options{Queue: true, RetryStrategy: redislock.NoRetry()}
		_, err := client.Obtain(pace.WhileHolding(ctx), []string{"k"}, time.Minute, opt)
		check.Is(t, err, context.DeadlineExceeded, redislock.ErrNotReplicated)
	})
}

// Who stands in line pauses between its requests while the slot of its key moves, and hears its channel meanwhile.
func TestQueueWhileASlotMoves(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		var asked atomic.Int64
		var isOver atomic.Bool
		p := &world.FakeServer{Script: func(run check.Run) string {
			switch {
			case world.AsksFirst(run):
				return world.HeldBySomebody
			case world.StandsInLine(run) && asked.Add(1) == 1:
				return world.InPlace(1, 1)
			case !isOver.Load():
				return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
			}
			return ":1\r\n"
		}}
		turns := make(chan world.Turn, 1)
		(&world.World{Client: world.NewClient(t, p.Client(t))}).Wait(t.Context(), turns, "waiter", []string{"k"}, nil)
		time.Sleep(10 * time.Minute)
		isOver.Store(true)
		check.NoError(t, (<-turns).Lock.Release(t.Context()))
		if got := asked.Load(); got < 100 || got > 950 { // else it would be 1100, in calls that hear nothing
			t.Errorf("it has asked %d times in ten minutes, want at least 100 and at most 950", got)
		}
	})
}
