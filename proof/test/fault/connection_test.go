package fault_test

import (
	"context"
	"errors"
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

// A server that closes idle connections takes nothing away from those who hold a lock, or stand in line.
func TestIdleConnectionsClosed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis, "--timeout", "1")
	w := world.New(t, server)
	const ttl = 15 * time.Second
	held := world.LockKinds[0].Hold(t, w.Client, w.Key("k"), ttl, true)
	other := world.NewClient(t, server.Client(t))
	next := make(chan error, 1)
	go func() {
		lock, err := other.Obtain(t.Context(), held.Keys, world.Long, world.Queue())
		if err == nil {
			err = lock.Release(t.Context())
		}
		next <- err
	}()
	for range 2 { // between two renewals every connection is idle for long enough
		held.Renewed(t, ttl)
	}
	select {
	case err := <-next:
		t.Fatalf("somebody in line is not kept waiting: %v", err)
	default:
	}
	check.NoError(t, held.Lock.Release(t.Context()))
	check.NoError(t, <-next)
}

// Connections are killed all the time, those over which waiters hear as well: everybody has their turns, and one at a time.
func TestConnectionsKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	w := world.New(t, server)
	admin := server.Client(t)
	killed := make(chan int)
	ctx, cancel := context.WithCancel(t.Context())
	var inside, turns atomic.Int64
	go func() {
		times := 0
		for ; ctx.Err() == nil; times++ {
			before, began := turns.Load(), time.Now()
			kind := []string{"normal", "pubsub"}[times%2]
			_ = admin.Do(ctx, "client", "kill", "type", kind, "skipme", "yes").Err()
			for turns.Load() < before+2 && time.Since(began) < time.Second && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
		}
		killed <- times
	}()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for done := 0; done < 20; {
				opt := world.Queue()
				opt.RetryStrategy = redislock.LinearBackoff(5 * time.Millisecond) // however often it cannot subscribe, it goes on
				lock, err := w.Client.Obtain(t.Context(), w.Keys("a", "b"), world.Long, opt)
				if errors.Is(err, redislock.ErrUnknownOutcome) {
					continue // it was killed again and again; what it may have got is released in the background
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) > 1 {
					t.Error("two are inside")
				}
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				turns.Add(1)
				done++
				if err := lock.Release(t.Context()); err != nil && !errors.Is(err, redislock.ErrUnknownOutcome) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	cancel()
	if times := <-killed; times < 20 || turns.Load() != 8*20 {
		t.Errorf("got %d turns, want %d, while connections were killed %d times", turns.Load(), 8*20, times)
	}
}

// A network that carries one byte at a time makes no difference but in time.
func TestBytesOneByOne(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	p := newPipe(t, w.RDB.Options().Addr, 1)
	rdb := redis.NewClient(&redis.Options{Addr: p.listener.Addr().String(), ReadTimeout: time.Minute})
	t.Cleanup(func() { _ = rdb.Close() })
	check.NoError(t, world.Cycle(t.Context(), world.NewClient(t, rdb), w.Key("cycle")))
	world.WantNothing(t, w.RDB, w.Key("cycle"))
}

// A reply that ends in the middle is none: whoever asks again has the lock, under one token, and whoever does not knows that
// nobody knows. Nothing stays locked.
func TestRepliesCut(t *testing.T) {
	t.Parallel()
	for name, retries := range map[string]int{"once": -1, "again": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, redistest.Shared(t, redistest.Redis))
			p := newPipe(t, w.RDB.Options().Addr, 0)
			rdb := redis.NewClient(&redis.Options{Addr: p.listener.Addr().String(), MaxRetries: retries})
			t.Cleanup(func() { _ = rdb.Close() })
			client := world.NewClient(t, rdb)
			warm := check.Must[*redislock.Lock](t)(client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a"), Read: w.Keys("b")}, world.Long, world.Fenced()))
			check.NoError(t, warm.Release(t.Context()))
			unknown := 0
			for behind := range int64(12) {
				p.cut(behind)
				lock, err := client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a"), Read: w.Keys("b")}, world.Long, world.Fenced())
				switch {
				case err == nil:
					check.NoError(t, lock.Refresh(t.Context(), world.Long))
					check.NoError(t, lock.Release(t.Context()))
				case retries < 0 && errors.Is(err, redislock.ErrUnknownOutcome):
					unknown++
				default:
					t.Fatalf("behind %d bytes: %v", behind, err)
				}
				check.Eventually(t, time.Minute, "nothing stays locked", func() bool {
					return check.Must[int64](t)(w.RDB.Exists(t.Context(), w.Keys("a", "b")...).Result()) == 0
				})
			}
			if retries < 0 && unknown == 0 {
				t.Error("no reply was cut: nothing was tested")
			}
		})
	}
}
