package quick_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// DESIGN section 11: reply of Release lost, resent by the client: "not held" although it worked.
func TestReleaseReplyLost(t *testing.T) {
	t.Parallel()
	faults := map[string]func(r *redistest.Relay, n int){
		"dropped": func(r *redistest.Relay, n int) { r.DropReplies(n == 1) },
		"cut after": func(r *redistest.Relay, n int) {
			if n == 1 {
				r.CutReplies()
			}
		},
	}
	for name, spoil := range faults {
		t.Run(name+"/again", func(t *testing.T) {
			t.Parallel()
			l := world.NewLossy(t, world.Persistent)
			lock := l.Obtain(t, l.Key)
			l.On("release", func(n int) { spoil(l.Relay, n) })
			check.NoError(t, lock.Release(t.Context()))
			if l.Locked(t) {
				t.Error("the key is there after its release")
			}
		})
		t.Run(name+"/once", func(t *testing.T) {
			t.Parallel()
			l := world.NewLossy(t, world.Impatient)
			lock := l.Obtain(t, l.Key)
			l.On("release", func(n int) { spoil(l.Relay, n) })
			world.WantUnknownOutcome(t, lock.Release(t.Context()))
			l.Freed(t)
		})
	}
	t.Run("request lost, once", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, world.Impatient)
		lock := l.Obtain(t, l.Key)
		l.On("release", func(n int) {
			if n == 1 {
				l.Relay.Cut()
			}
		})
		world.WantUnknownOutcome(t, lock.Release(t.Context()))
		l.Freed(t)
	})
}

func TestReleaseTellsARealLoss(t *testing.T) {
	t.Parallel()
	clients := map[string]func(rdb *redis.Client) redis.Scripter{
		"client":   func(rdb *redis.Client) redis.Scripter { return rdb },
		"scripter": func(rdb *redis.Client) redis.Scripter { return world.Bare{Scripter: rdb} },
	}
	for name, wrap := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := redistest.Start(t, redistest.Redis).Client(t) // one that knows no script
			client := redislock.New(wrap(rdb))
			t.Cleanup(client.Close)
			lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, world.Long, nil))
			check.NoError(t, rdb.Set(t.Context(), t.Name(), "somebody", world.Long).Err())
			err := lock.Release(t.Context())
			check.Is(t, err, redislock.ErrLockNotHeld)
			if !strings.Contains(err.Error(), fmt.Sprintf("%q", t.Name())) {
				t.Errorf("got error %v, want one that names the key", err)
			}
			if got := rdb.Get(t.Context(), t.Name()).Val(); got != "somebody" {
				t.Errorf("got value %q after the release, want that of the new holder", got)
			}
		})
	}
}

// answeredWithin is less than the 100 ms for which a call may go on whose context has ended. Tests in which it is
// answered meanwhile run in a bubble: on a busy machine an answer may take longer.
const answeredWithin = 90 * time.Millisecond

// DESIGN section 11: Release on a cancelled ctx leaves the key.
func TestReleaseCancelled(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			check.NoError(t, world.Cycle(t.Context(), w.Client, w.Key("warm"))) // the server knows the scripts
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
			w.RDB.AddHook(check.Slow(900 * time.Millisecond)) // it waits a second for the answer
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			check.NoError(t, lock.Release(ctx))
			w.WantFree(t, w.Key("a"))
		})
	})
	t.Run("while it is under way", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			check.NoError(t, world.Cycle(t.Context(), w.Client, w.Key("warm"))) // the server knows the scripts
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
			ctx, cancel := context.WithCancel(t.Context())
			w.RDB.AddHook(check.Around{After: func(cmd redis.Cmder) {
				if check.RunIn(cmd).Of("release") {
					cancel()
					time.Sleep(answeredWithin)
				}
			}})
			check.NoError(t, lock.Release(ctx))
			w.WantFree(t, w.Key("a"))
		})
	})
	t.Run("while the server cannot be reached", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, world.Persistent)
		lock := l.Obtain(t, l.Key)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l.RDB.AddHook(check.Around{Before: func(_ redis.Cmder) {
			cancel()
		}})
		l.Relay.Blackhole(true)
		check.Is(t, lock.Release(ctx), redislock.ErrUnknownOutcome, context.Canceled)
		if !l.Locked(t) {
			t.Fatal("the key is free, want the release to be still to come")
		}
		l.Relay.Blackhole(false)
		l.Freed(t)
	})
}

// The clean-up of an Obtain without an answer must not take the keys from the next Obtain
// of the same token.
func TestTokenAfterUnknownOutcome(t *testing.T) {
	t.Parallel()
	t.Run("clean-up after", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, world.Impatient)

		l.On("obtain", func(n int) {
			if n == 1 {
				l.Relay.CutReplies()
			}
		})
		_, err := l.Client.As(t.Name()).Obtain(t.Context(), []string{l.Key}, world.Long, nil)
		world.WantUnknownOutcome(t, err)
		lock := check.Must[*redislock.Lock](t)(l.Client.As(t.Name()).Obtain(t.Context(), []string{l.Key}, world.Long, nil))
		world.WantStillHeld(t, l, lock, 500*time.Millisecond)
	})
	t.Run("clean-up under way", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, world.Impatient)

		held := make(chan struct{})
		var once sync.Once
		l.Relay.OnRequest(func(name string, args []string) {
			switch world.OperationOf(name, args) {
			case "obtain":
				once.Do(l.Relay.CutReplies)
			case "release":
				l.Relay.DelayRequests(world.ReplyTimeout / 10) // within the time-out
				select {
				case <-held:
				default:
					close(held)
				}
			}
		})
		_, err := l.Client.As(t.Name()).Obtain(t.Context(), []string{l.Key}, world.Long, nil)
		world.WantUnknownOutcome(t, err)
		<-held
		l.Relay.DelayRequests(0)
		lock := check.Must[*redislock.Lock](t)(l.Client.As(t.Name()).Obtain(t.Context(), []string{l.Key}, world.Long, nil))
		world.WantStillHeld(t, l, lock, 500*time.Millisecond)
	})
	t.Run("clean-up delayed beyond its own time-out", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, world.Impatient)

		delayed := make(chan struct{})
		var cut, delay sync.Once
		l.Relay.OnRequest(func(name string, args []string) {
			l.Relay.DelayRequests(0)
			switch world.OperationOf(name, args) {
			case "obtain":
				cut.Do(l.Relay.CutReplies)
			case "release":
				delay.Do(func() {
					l.Relay.DelayRequests(2 * world.ReplyTimeout)
					close(delayed)
				})
			}
		})
		_, err := l.Client.As(t.Name()).Obtain(t.Context(), []string{l.Key}, world.Long, nil)
		world.WantUnknownOutcome(t, err)
		<-delayed
		ctx, cancel := context.WithTimeout(t.Context(), 3*world.ReplyTimeout/2)
		defer cancel()
		lock, err := l.Client.As(t.Name()).Obtain(ctx, []string{l.Key}, world.Long, nil)
		if err != nil {
			return // not yet: nothing that could be taken away
		}
		world.WantStillHeld(t, l, lock, 2*world.ReplyTimeout)
	})
}

// A Release without an answer must not take the keys from the next Obtain of the same token: neither by a late request,
// nor by one that is sent again.
func TestTokenAfterUnknownRelease(t *testing.T) {
	t.Parallel()
	for name, mod := range map[string]func(*redis.Options){
		"cancelled": world.Persistent,
		"timed out": world.Impatient,
		"sent again": func(opt *redis.Options) {
			world.Impatient(opt)
			opt.MaxRetries = 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const late = time.Second // longer than the time-out of the impatient
			l := world.NewLossy(t, mod)

			first := check.Must[*redislock.Lock](t)(l.Client.As(t.Name()).Obtain(t.Context(), []string{l.Key}, world.Long, nil))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l.On("release", func(n int) {
				if n > 1 {
					return
				}
				l.Relay.DelayRequests(late)
				if name == "cancelled" {
					cancel()
				}
			})
			if err := first.Release(ctx); err != nil {
				check.Is(t, err, redislock.ErrUnknownOutcome)
			}
			ctx, cancel = context.WithTimeout(t.Context(), late)
			defer cancel()
			lock, err := l.Client.As(t.Name()).Obtain(ctx, []string{l.Key}, world.Long, nil)
			if err != nil {
				return // not yet: nothing that could be taken away
			}
			world.WantStillHeld(t, l, lock, 3*late/2)
		})
	}
}
