package outcome_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A server that became a replica before it could say how many replicas have a lock refuses to say so. The Obtain asks again.
func TestAsksAgainAfterAFailover(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]*redislock.Options{
		"polls":  {RetryStrategy: redislock.LinearBackoff(time.Second)},
		"queues": {RetryStrategy: redislock.LinearBackoff(time.Second), Queue: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, asked := &world.FakeServer{}, 0
				p.Script = func(run check.Run) string {
					if run.Obtain != nil {
						asked++
						if p.Wait = "-ERR WAIT cannot be used with replica instances.\r\n"; asked > 1 {
							p.Wait = ":1\r\n"
						}
					}
					return ":1\r\n"
				}
				client := world.NewClient(t, p.Client(t), redislock.WithReplicas(1))
				lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Minute, opt))
				if asked != 2 {
					t.Errorf("it has asked %d times, want twice", asked)
				}
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}
