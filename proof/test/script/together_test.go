package script_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Callers of one process that poll for the same key ask together, and each of them is told who has it.
func TestPollersAskTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	admin := server.Client(t)
	holder, waiters := redislock.New(server.Client(t)), redislock.New(server.Client(t))
	lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), []string{"k"}, time.Minute,
		&redislock.Options{Metadata: "backup of host 7"}))
	const callers, retries = 64, 20
	poll := func() {
		_, err := waiters.Obtain(context.Background(), []string{"k"}, time.Minute, &redislock.Options{
			RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(5*time.Millisecond), retries),
		})
		conflict, ok := errors.AsType[*redislock.ConflictError](err)
		if !ok || conflict.Key != "k" || conflict.Mode != redislock.ModeWrite ||
			conflict.Metadata != "backup of host 7" || conflict.TTL <= 0 || conflict.TTL > time.Minute {
			t.Errorf("got error %v", err)
		}
	}
	asked, attempts := world.Counted(t, admin, func() {
		var wg sync.WaitGroup
		for range callers {
			wg.Go(poll)
		}
		wg.Wait()
	})["evalsha"], callers*(1+retries)
	t.Logf("%d commands for %d attempts", asked, attempts)
	if asked > attempts/2 {
		t.Errorf("%d commands for %d attempts of %d callers", asked, attempts, callers)
	}
	check.NoError(t, lock.Release(t.Context()))
}

// Nobody who polls gets what another one holds, however they ask, and everybody has it at some time.
func TestPollersTogetherExclude(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	client := redislock.New(server.Client(t))
	var wg sync.WaitGroup
	var inside, times atomic.Int64
	const callers, each = 32, 10
	for i := range callers {
		wg.Go(func() {
			for range each {
				lock, err := client.Obtain(context.Background(), []string{"k"}, time.Minute, &redislock.Options{
					Metadata: fmt.Sprint(i), RetryStrategy: redislock.LinearBackoff(time.Millisecond),
				})
				if err != nil {
					t.Errorf("got error %v", err)
					return
				}
				if inside.Add(1) > 1 {
					t.Error("two have it")
				}
				times.Add(1)
				inside.Add(-1)
				if err := lock.Release(context.Background()); err != nil {
					t.Errorf("got error %v from Release", err)
				}
			}
		})
	}
	wg.Wait()
	if want := int64(callers * each); times.Load() != want {
		t.Errorf("it was obtained %d times, want %d", times.Load(), want)
	}
}

// An Obtain whose token holds the keys gets them, also if it goes out with others that are refused.
func TestKnownTokenIsNotLikeOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	client := redislock.New(server.Client(t))
	const mine = "mine"
	lock := check.Must[*redislock.Lock](t)(client.As(mine).Obtain(t.Context(), []string{"k"}, time.Minute, nil))
	for range 20 {
		var wg sync.WaitGroup
		for i := range 32 {
			token := mine
			if i%4 > 0 {
				token = fmt.Sprint("other", i)
			}
			wg.Go(func() {
				_, err := client.As(token).Obtain(context.Background(), []string{"k"}, time.Minute, nil)
				if held := token == mine; held && err != nil || !held && !errors.Is(err, redislock.ErrNotObtained) {
					t.Errorf("token %s: got error %v", token, err)
				}
			})
		}
		wg.Wait()
	}
	check.NoError(t, lock.Release(t.Context()))
}
