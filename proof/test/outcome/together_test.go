package outcome_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Calls of one client travel together: each does what it would have done alone.
func TestTogether(t *testing.T) {
	for _, batching := range []bool{true, false} {
		t.Run(fmt.Sprintf("batching=%v", batching), func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, b redistest.Backend) {
				const workers, rounds = 64, 20
				w := world.New(t, b)
				if !batching {
					w.Client = world.NewClient(t, struct{ *redis.Client }{w.RDB}) // whose type is not known
				}
				runs := check.Count(w.RDB, "eval")
				taken := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("taken"), world.Long, &redislock.Options{Metadata: "first"}))
				begin := make(chan struct{})
				var wg sync.WaitGroup
				for worker := range workers {
					wg.Go(func() {
						<-begin
						own := w.Keys(fmt.Sprint("a", worker), fmt.Sprint("b", worker))[:1+worker%2]
						for range rounds {
							lock, err := w.Client.Obtain(t.Context(), own, world.Long, &redislock.Options{Metadata: fmt.Sprint(worker)})
							if err != nil {
								t.Errorf("unexpected error: %v", err)
								return
							}
							_, err = w.Client.Obtain(t.Context(), append(own[:len(own):len(own)], w.Key("taken")), world.Long, nil)
							if conflict := world.WantConflict(t, err, own[0], redislock.ModeWrite); conflict.Metadata != fmt.Sprint(worker) {
								t.Errorf("got conflict %+v", conflict)
							}
							if err := lock.Release(t.Context()); err != nil {
								t.Errorf("unexpected error: %v", err)
							}
							_, err = w.Client.Obtain(t.Context(), append(own[:len(own):len(own)], w.Key("taken")), world.Long, nil)
							world.WantConflict(t, err, w.Key("taken"), redislock.ModeWrite)
						}
					})
				}
				close(begin)
				wg.Wait()
				calls := int64(workers * rounds * 4)
				if n := runs.Load(); batching && n > calls*3/4 || !batching && n < calls {
					t.Errorf("sent %d scripts for %d calls", n, calls)
				}
				check.NoError(t, taken.Release(t.Context()))
				for worker := range workers {
					w.WantFree(t, w.Keys(fmt.Sprint("a", worker), fmt.Sprint("b", worker))...)
				}
			})
		})
	}
}

// A connection that hangs delays those behind it by a moment, not by its time-out.
func TestHungConnectionHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	const hung = 2 // as many as there are batches under way
	relay := redistest.NewRelay(t, redistest.Start(t, redistest.Redis).Addr())
	client := redislock.New(relay.Client(t, func(opt *redis.Options) { opt.ReadTimeout = world.Long }))
	// The server has to know the script, or it would ask for it before it hangs.
	check.NoError(t, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, world.Long, nil)).Release(t.Context()))
	var seen atomic.Int64
	over := make(chan struct{})
	defer close(over)
	relay.OnRequest(func(name string, _ []string) {
		if strings.HasPrefix(name, "EVAL") && seen.Add(1) <= hung {
			<-over // its connection hangs, no other
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	var stuck sync.WaitGroup
	for i := range hung {
		stuck.Go(func() {
			_, err := client.Obtain(ctx, []string{fmt.Sprint(t.Name(), "stuck", i)}, world.Long, nil)
			check.Is(t, err, redislock.ErrUnknownOutcome)
		})
		check.Eventually(t, 5*time.Second, "the request is on its way", func() bool { return seen.Load() > int64(i) })
	}
	for i := range 20 {
		watch := check.StartWatch(t)
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{fmt.Sprint(t.Name(), i)}, world.Long, nil))
		if waited := watch.Took(); waited > 10*time.Second {
			t.Fatalf("waited %v behind a connection that hangs", waited)
		}
		check.NoError(t, lock.Release(t.Context()))
	}
	cancel()
	stuck.Wait()
}
