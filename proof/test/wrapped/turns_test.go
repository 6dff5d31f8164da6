package wrapped_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Obtains of one Client that wait behind one another, Releases that give their keys to the next, and holds that are passed on
// exclude one another behind wrappers, of a Cluster and of a Ring as well as of a server, and leave nothing.
func TestTurnsInOneProcess(t *testing.T) {
	wrappings(t, func(t *testing.T, w *wrapping) {
		for name, rdb := range map[string]redis.Scripter{"wrapped": w.rdb, "itself": w.inner} {
			var clients []*redislock.Client
			for range 2 {
				clients = append(clients, world.NewClient(t, rdb, redislock.WithWrapped(w.inner)))
			}
			for i, opt := range []redislock.Options{
				{Queue: true},
				{Queue: true, Fenced: true},
				{Queue: true, PassOn: 5 * time.Millisecond},
				{Queue: true, PassOn: 5 * time.Millisecond, Fenced: true},
				{RetryStrategy: redislock.LinearBackoff(time.Millisecond)},
			} {
				tag := fmt.Sprintf("{%s:%s:%d}", t.Name(), name, i)
				set := []string{tag + "a", tag + "b"}
				var mu sync.Mutex
				var numbers []int64
				waiters := world.NewWaiters(t)
				for i := range 8 {
					who, client := fmt.Sprint(i), clients[i%2]
					waiters.WG.Go(func() {
						for range 10 {
							lock, err := client.Obtain(waiters.Ctx, set, world.Long, &opt)
							if err == nil {
								leave := waiters.Hold(who, set, nil)
								mu.Lock()
								numbers = append(numbers, lock.Fence())
								mu.Unlock()
								leave()
								err = lock.Release(waiters.Ctx)
							}
							waiters.Note(who, err)
						}
					})
				}
				if got := len(waiters.Served(t)); got != 80 {
					t.Errorf("%s: %d turns, want 80", tag, got)
				}
				if opt.Fenced && (!slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers)) {
					t.Errorf("%s: the numbers are %v", tag, numbers)
				}
				for _, node := range w.nodes {
					check.Eventually(t, world.Soon, "nothing but guards and numbers is left", func() bool {
						keys := check.Must[[]string](t)(node.Keys(t.Context(), "*"+name+":*").Result())
						keys = slices.DeleteFunc(keys, func(key string) bool { return node.Type(t.Context(), key).Val() == "hash" })
						return len(check.WithoutGuards(t.Context(), node, keys...)) == 0
					})
				}
			}
		}
	})
}
