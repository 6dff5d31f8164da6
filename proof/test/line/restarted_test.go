package line_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A server that has just been started says how much longer it gives no locks. Who is to stand in line asks when that is over.
func TestQueueAfterRestart(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		const rest = 2 * time.Second
		began := time.Now()
		p := &world.FakeServer{Script: func(check.Run) string {
			if left := rest - time.Since(began); left > 0 {
				return fmt.Sprintf("*5\r\n:0\r\n:1\r\n$9\r\nrestarted\r\n:%d\r\n$0\r\n\r\n", left.Milliseconds())
			}
			return ":1\r\n"
		}}
		client := world.NewClient(t, p.Client(t), redislock.WithMinUptime(time.Hour))
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Minute, world.Queue()))
		if took := time.Since(began); took > rest+rest/10 {
			t.Errorf("it took %s, want %s", took, rest)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}
