package recipes_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"
	"testing"

	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/locktest"
)

// found is a count of so many pieces, whatever stood in the row.
func found(pieces int64) func(context.Context, int64) (int64, error) {
	return func(context.Context, int64) (int64, error) { return pieces, nil }
}

// A write of a holder who has lost the lock is on its way while the next holder works. It is refused whenever it arrives.
func TestRecountLate(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"before the newer write": true, "after the newer write": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := locktest.New(t)
			table := &rows{of: map[int64]row{9: {"pieces": 10}}}
			sent, arrives := make(chan struct{}), make(chan struct{})
			var writes atomic.Int64
			table.arrive = func(_ string, args []driver.NamedValue) {
				if len(args) == 3 && args[1].Value == int64(99) { // the write of the older holder
					writes.Add(1)
					close(sent)
					<-arrives
				}
			}
			db := sql.OpenDB(table)
			defer db.Close()
			older, newer := server.Client(), server.Client()
			late := make(chan error, 1)
			go func() { late <- recount(t.Context(), db, older, 9, found(99)) }()
			select {
			case <-sent:
			case err := <-late:
				t.Fatalf("the older holder has ended before it wrote: %v", err)
			}
			server.Expire("lock:stock:9") // the lease is over

			var err error
			arrive := func() {
				close(arrives)
				err = <-late
			}
			check.NoError(t, recount(t.Context(), db, newer, 9, func(_ context.Context, pieces int64) (int64, error) {
				if before {
					arrive()
				}
				return pieces - 2, nil
			}))
			if !before {
				arrive()
			}
			check.Is(t, err, fencing.ErrStale)
			if got := table.stored()["pieces"]; got != 8 || writes.Load() != 1 {
				t.Errorf("got %d pieces after %d late writes, want 8 after 1", got, writes.Load())
			}
		})
	}
}

// No row was changed, and nothing is counted, if there is no such product or a newer holder has the row.
func TestRecountNoRow(t *testing.T) {
	t.Parallel()
	server := locktest.New(t)
	const newest = 1 << 52
	db := sql.OpenDB(&rows{of: map[int64]row{9: {"pieces": 10, "fence": newest}}})
	defer db.Close()
	for _, product := range []int64{8, 9} {
		check.Is(t, recount(t.Context(), db, server.Client(), product, func(context.Context, int64) (int64, error) {
			t.Errorf("product %d was counted", product)
			return 0, nil
		}), fencing.ErrStale)
	}
}

// A Redis that has lost everything gives greater numbers all the same, so the row takes them.
func TestRecountAfterRedisLostItsData(t *testing.T) {
	t.Parallel()
	server := locktest.New(t)
	table := &rows{of: map[int64]row{9: {"pieces": 10}}}
	db := sql.OpenDB(table)
	defer db.Close()
	check.NoError(t, recount(t.Context(), db, server.Client(), 9, found(7)))
	before := table.stored()["fence"]
	check.NoError(t, server.Redis().FlushDB(t.Context()).Err())
	check.NoError(t, recount(t.Context(), db, server.Client(), 9, found(6)))
	if after := table.stored(); after["fence"] <= before || after["pieces"] != 6 {
		t.Errorf("got %v after the number %d", after, before)
	}
}
