package fault_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// pausedTTL is the lease of a holder that is stopped for longer.
const pausedTTL = 2 * time.Second

func init() {
	// adder adds an element to a list that is one value: it reads it, waits for the word to go on, and writes it.
	// Its last argument says how it writes.
	redistest.RegisterRole("adder", func(args []string) {
		fmt.Println(add(args[0], args[1], args[2]))
	})
}

// add is what the adder does, and what came of it.
func add(addr, key, how string) string {
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	lock, err := redislock.New(rdb).Obtain(ctx, []string{key}, pausedTTL, &redislock.Options{Watchdog: true, Fenced: true})
	if err != nil {
		return err.Error()
	}
	held := lock.Context(ctx)
	list, err := read(ctx, rdb, key, how)
	if err != nil {
		return err.Error()
	}
	fmt.Println("has read")
	if err := rdb.BLPop(ctx, 0, key+"-go-on").Err(); err != nil {
		return err.Error()
	}
	if how == "looks before it writes" && !time.Now().Before(lock.Deadline()) {
		<-held.Done()
		return "does not write: " + context.Cause(held).Error()
	}
	if err := write(ctx, rdb, lock, key, how, list+" adder"); err != nil {
		return "is refused"
	}
	return "has written"
}

func read(ctx context.Context, rdb *redis.Client, key, how string) (string, error) {
	if how == "with its number" {
		list, _, err := fencing.Get(ctx, rdb, key+"-list")
		return list, err
	}
	return rdb.Get(ctx, key+"-list").Result()
}

func write(ctx context.Context, rdb *redis.Client, lock *redislock.Lock, key, how, list string) error {
	if how == "with its number" {
		return fencing.Set(ctx, rdb, key+"-list", lock.Fence(), list, world.Long)
	}
	return rdb.Set(ctx, key+"-list", list, world.Long).Err()
}

// A holder is stopped between reading and writing until somebody else has had the lock. What that one has added is lost
// when the holder wakes up and writes: no lock can help that. It is not lost if the holder looks at its deadline before it
// writes, as long as it is not stopped behind that look, and never if the resource looks at the number.
func TestPausedHolder(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]struct{ says, list string }{
		"as if nothing had been": {"has written", "first adder"},
		"looks before it writes": {"does not write: lock lost", "first next"},
		"with its number":        {"is refused", "first next"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, redistest.Shared(t, redistest.Redis))
			ctx, key := t.Context(), w.Key("a")
			opt := &redislock.Options{Fenced: true, RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond)}
			first := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, []string{key}, world.Long, opt))
			check.NoError(t, write(ctx, w.RDB, first, key, how, "first"))
			check.NoError(t, first.Release(ctx))

			adder := redistest.StartRole(t, "adder", w.RDB.Options().Addr, key, how)
			world.WantSays(t, adder, "has read")
			adder.Pause()
			next := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, []string{key}, world.Long, opt))
			list := check.Must[string](t)(read(ctx, w.RDB, key, how))
			check.NoError(t, write(ctx, w.RDB, next, key, how, list+" next"))
			check.NoError(t, w.RDB.RPush(ctx, key+"-go-on", "").Err())
			adder.Resume()
			world.WantSays(t, adder, want.says)

			if got := check.Must[string](t)(read(ctx, w.RDB, key, how)); got != want.list {
				t.Errorf("the list is %q, want %q", got, want.list)
			}
			check.NoError(t, next.Release(ctx)) // the one that woke up has not touched it
		})
	}
}
