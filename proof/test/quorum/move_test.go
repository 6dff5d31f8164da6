package quorum_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// If all nodes are Clusters where the slot moves nothing is done, and that is known, also if they would
// wait for longer than the node time-out.
func TestMovingSlotEverywhere(t *testing.T) {
	for name, do := range map[string]func(ctx context.Context, c *quorum.Client, lock *quorum.Lock) error{
		"obtain": func(ctx context.Context, c *quorum.Client, _ *quorum.Lock) error {
			_, err := c.Obtain(ctx, []string{"{k}c", "{k}d"}, long, nil)
			return err
		},
		"refresh": func(ctx context.Context, _ *quorum.Client, lock *quorum.Lock) error { return lock.Refresh(ctx, long) },
		"release": func(ctx context.Context, _ *quorum.Client, lock *quorum.Lock) error { return lock.Release(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{}
				var minis []*redistest.Mini
				for range 3 {
					minis = append(minis, redistest.PipeMini(t))
					w.add(t, minis[len(minis)-1])
				}
				client := must[*quorum.Client](t)(quorum.New(w.nodes))
				closeAtEnd(t, client.Close)
				lock := must[*quorum.Lock](t)(client.Obtain(bounded(t), []string{"{k}a", "{k}b"}, long, nil))
				time.Sleep(time.Second)
				for _, mini := range minis {
					mini.Miniredis().SetError("TRYAGAIN Multiple keys request during rehashing of slot")
				}
				err := do(bounded(t), client, lock)
				for _, mini := range minis {
					mini.Miniredis().SetError("")
				}
				if err == nil || errors.Is(err, redislock.ErrUnknownOutcome) || !strings.Contains(err.Error(), "TRYAGAIN") {
					t.Errorf("got error %v, want that of the servers", err)
				}
				time.Sleep(long)
				w.wantHolders(t, "{k}a", 0)
				w.wantHolders(t, "{k}c", 0)
			})
		})
	}
}
