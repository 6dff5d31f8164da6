package quorum_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// A node that joins in after the deadline of the lock does not bring it back: others may have had it in between.
func TestNodeJoinsTooLate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		away time.Duration
		is   error
	}{"in time": {800 * time.Millisecond, nil}, "too late": {950 * time.Millisecond, redislock.ErrUnknownOutcome}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const ttl = 10 * time.Second // of which 9.898 s are certain
				w, away := &world{}, [5]atomic.Int64{}
				for i := range away {
					mini := redistest.PipeMini(t)
					rdb := mini.Client(t, neverGivesUp, apart)
					rdb.AddHook(far(&away[i]))
					w.rdbs, w.nodes = append(w.rdbs, mini.Client(t, impatient)), append(w.nodes, w.newNode(t, i, rdb))
				}
				w.client = w.newClient(t)
				defer time.Sleep(long) // what is under way arrives
				w.warmUp(t)
				others := w.block(t, "k", long, 3, 4)
				lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, ttl, nil))
				w.settled(t)
				time.Sleep(time.Until(lock.Deadline().Add(-898 * time.Millisecond)))
				noError(t, others[0].Release(bounded(t)))
				away[2].Store(int64(2 * ttl)) // two nodes have the new lease, and a third is needed
				away[3].Store(int64(test.away))
				wantIs(t, lock.Refresh(bounded(t), ttl), test.is)
				if certain := time.Now().Before(lock.Deadline()); certain != (test.is == nil) {
					t.Errorf("it is certain: %t", certain)
				}
				away[2].Store(0)
				_ = lock.Release(bounded(t))
				time.Sleep(long)
				w.wantHolders(t, "k", 0)
			})
		})
	}
}
