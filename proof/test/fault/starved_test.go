package fault_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func init() {
	// starved holds a key in a process with one processor and much to do, until its lease was renewed three times, or is lost.
	redistest.RegisterRole("starved", func(args []string) {
		runtime.GOMAXPROCS(1)
		for range 4 {
			go func() {
				for n := 0; ; n++ {
					_ = n * n
				}
			}()
		}
		const ttl = 9 * time.Second
		lock, err := redislock.New(redis.NewClient(&redis.Options{Addr: args[0]})).Obtain(context.Background(), args[1:], ttl, world.Watched)
		if err != nil {
			fmt.Println(err)
			return
		}
		deadline := lock.Deadline()
		for renewals := 0; renewals < 3; {
			select {
			case <-lock.Lost():
				fmt.Println("lost")
				return
			case <-time.After(20 * time.Millisecond):
			}
			if next := lock.Deadline(); next.After(deadline) {
				deadline, renewals = next, renewals+1
			}
		}
		fmt.Println("renewed")
		<-lock.Lost()
	})
}

// A holder that shares one processor with busy goroutines renews its lease in time.
func TestStarvedHolder(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	holder := redistest.StartRole(t, "starved", w.RDB.Options().Addr, w.Key("a"))
	if got := check.Must[string](t)(holder.ReadLine(2 * time.Minute)); got != "renewed" {
		t.Fatalf("the holder says %q, want that its lease was renewed", got)
	}
	_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil)
	check.Is(t, err, redislock.ErrNotObtained)
}
