package recipes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Workers that are held up before any command do the jobs of each customer in the order in which they were pushed.
func TestWorkersDoJobsInOrder(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		const customers, jobs, workers = 2, 100, 6
		told := make(chan string, customers*jobs) // of customers, as by a list in Redis
		var mu sync.Mutex
		done := map[string][]string{}
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				rdb := mini.Client(t)
				rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
					time.Sleep(rand.N(10 * time.Millisecond))
					return send(cmds)
				}})
				client := redislock.New(rdb)
				defer client.Close()
				for customer := range told {
					check.NoError(t, doJobs(t.Context(), rdb, client, customer, func(_ context.Context, job string) error {
						mu.Lock()
						defer mu.Unlock()
						done[customer] = append(done[customer], job)
						return nil
					}))
				}
			})
		}
		for job := range jobs {
			for customer := range customers {
				check.NoError(t, w.RDB.RPush(t.Context(), fmt.Sprintf("jobs:%d", customer), fmt.Sprintf("%03d", job)).Err())
				told <- fmt.Sprint(customer)
			}
			time.Sleep(rand.N(40 * time.Millisecond))
		}
		close(told)
		wg.Wait()

		inversions := 0
		for customer, order := range done {
			if len(order) != jobs {
				t.Errorf("customer %s: got %d jobs done, want %d", customer, len(order), jobs)
			}
			for i := range order[1:] {
				if order[i+1] <= order[i] {
					inversions++
				}
			}
		}
		if len(done) != customers || inversions > 0 {
			t.Errorf("got jobs of %d customers with %d inversions, want %d with none", len(done), inversions, customers)
		}
	})
}
