package local_test

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Where many callers of one Client want one key, a turn takes about one script, and with PassOn nearly none.
func TestScriptsOfTurns(t *testing.T) {
	for name, c := range map[string]struct {
		passOn time.Duration
		most   float64 // scripts a turn
	}{
		"by default":  {0, 1.1},
		"with PassOn": {50 * time.Millisecond, .1},
	} {
		for _, callers := range []int{8, 64} {
			t.Run(fmt.Sprint(name, ", ", callers), func(t *testing.T) {
				play(t, func(t *testing.T, s *scene) {
					const each = 20
					var all sync.WaitGroup
					for range callers {
						all.Go(func() {
							for range each {
								lock, err := s.Client.Obtain(t.Context(), s.keys, world.Long, passing(c.passOn))
								if err != nil {
									t.Error(err)
									return
								}
								time.Sleep(time.Millisecond)
								check.NoError(t, lock.Release(t.Context()))
							}
						})
					}
					all.Wait()
					if got := float64(s.sent.Load()) / float64(callers*each); got > c.most {
						t.Errorf("got %.2f scripts a turn, want at most %.1f", got, c.most)
					}
				})
			})
		}
	}
}

// A waiter that waits behind others of its Client takes little memory, and nothing in Redis. What is weighed is its Obtain, which
// has no lock yet, and its place; if the server has refused it by the short way before, what it knows of that as well.
func TestHeapOfWaiters(t *testing.T) {
	for name, test := range map[string]struct {
		travels time.Duration // how long a request is under way; in that time all the others go the short way
		most    int
	}{
		"behind others":            {0, 1500},
		"refused by the short way": {time.Millisecond, 1800},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				// The first time it is more: what a goroutine leaves behind is there for the next. On a busy machine it is more as well.
				each := math.MaxInt
				for times := 0; each > test.most && times < 10; times++ {
					rdb := mini.Client(t)
					rdb.AddHook(check.Around{Before: func(redis.Cmder) { time.Sleep(test.travels) }})
					each = min(each, weighWaiters(t, w, world.NewClient(t, rdb)))
				}
				t.Logf("%d bytes each", each)
				if each > test.most {
					t.Errorf("a waiter takes %d bytes, want at most %d", each, test.most)
				}
			})
		})
	}
}

// weighWaiters has many callers of a Client wait, and returns how much memory each of them takes. Not parallel: others would count.
func weighWaiters(t *testing.T, w *world.World, client *redislock.Client) int {
	t.Helper()
	const many = 2000
	keys := w.Keys("k")
	holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), keys, world.Long, nil))
	before := check.InUse().HeapAlloc
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			lock, err := client.Obtain(t.Context(), keys, world.Long, options(""))
			if err != nil {
				t.Error(err)
				return
			}
			check.NoError(t, lock.Release(t.Context()))
		})
	}
	time.Sleep(10 * time.Second) // until the timers of their first requests have ended
	synctest.Wait()
	each := (int(check.InUse().HeapAlloc) - int(before)) / many
	if n := len(check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), keys))[0].Line); n != 1 {
		t.Errorf("%d of them stand in Redis, want 1", n)
	}
	check.NoError(t, holder.Release(t.Context()))
	all.Wait()
	return each
}
