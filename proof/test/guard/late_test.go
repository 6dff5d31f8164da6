package guard_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// holdFirst calls seen, which may be nil, for the first script, and keeps that on its way until it is let
// go on; the tries after it pass.
func holdFirst(t *testing.T, l *world.Lossy, seen func()) (goOn func()) {
	t.Helper()
	held := make(chan struct{})
	goOn = sync.OnceFunc(func() { close(held) })
	t.Cleanup(goOn)
	var n atomic.Int32
	l.Relay.OnRequest(func(name string, _ []string) {
		if strings.HasPrefix(name, "EVAL") && n.Add(1) == 1 {
			if seen != nil {
				seen()
			}
			<-held
		}
	})
	return goOn
}

// obtainsElsewhere reports whether another client can have the key now.
func obtainsElsewhere(t *testing.T, l *world.Lossy) bool {
	t.Helper()
	_, err := redislock.New(l.Direct).Obtain(t.Context(), []string{l.Key}, world.Long, nil)
	return err == nil
}

// freeSoon checks that nothing keeps the key, long before any ttl of the test is over.
func freeSoon(t *testing.T, l *world.Lossy, within time.Duration) {
	t.Helper()
	check.Eventually(t, within, "the key is free", func() bool {
		return check.Must[int64](t)(l.Direct.Exists(t.Context(), l.Key).Result()) == 0
	})
}

// What a request does if it reaches the server after a later one.
func TestLateRequests(t *testing.T) {
	t.Parallel()
	t.Run("a Refresh that shortens: the deadline moves before it is answered", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, func(*redis.Options) {})
		lock := l.Obtain(t, l.Key)
		l.Relay.DropReplies(true)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- lock.Refresh(ctx, time.Second) }()
		check.Eventually(t, 10*time.Second, "another has the key", func() bool { return obtainsElsewhere(t, l) })
		if left := time.Until(lock.Deadline()); left > 0 {
			t.Errorf("two holders: the first has %v left", left)
		}
		cancel()
		check.Is(t, <-ended, redislock.ErrUnknownOutcome)
	})
	t.Run("a Refresh that shortens and is not answered: the watchdog goes on", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, func(*redis.Options) {})
		lock := check.Must[*redislock.Lock](t)(l.Client.Obtain(t.Context(), []string{l.Key}, world.Long, world.Watched))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l.Relay.OnRequest(func(name string, args []string) {
			if world.OperationOf(name, args) == "refresh" {
				cancel()
			}
		})
		l.Relay.DropReplies(true)
		const ttl = 6 * time.Second
		check.Is(t, lock.Refresh(ctx, ttl), redislock.ErrUnknownOutcome)
		l.Relay.DropReplies(false)
		ctx, short := lock.Context(t.Context()), time.Now().Add(ttl)
		check.Eventually(t, 2*ttl, "the lease is renewed, beyond the short one", func() bool {
			return world.IsDone(ctx) || lock.Deadline().After(short)
		})
		if world.IsDone(ctx) {
			t.Error("lost, although the server answers")
		}
	})
	t.Run("a Refresh that lengthens, after which a Release is not answered: nothing stays", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, world.Impatient)
		lock := check.Must[*redislock.Lock](t)(l.Client.Obtain(t.Context(), []string{l.Key}, 4*time.Second, nil))
		known := lock.Deadline()
		l.Relay.CutReplies()
		check.Is(t, lock.Refresh(t.Context(), time.Hour), redislock.ErrUnknownOutcome)
		l.Relay.Blackhole(true)
		check.Is(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome)
		time.Sleep(time.Until(known) + 500*time.Millisecond) // beyond the deadline that is known
		l.Relay.Cut()
		l.Relay.Blackhole(false)
		freeSoon(t, l, 10*time.Second)
	})
	t.Run("an Obtain after Close: nothing stays", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, func(*redis.Options) {})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		goOn := holdFirst(t, l, cancel)
		_, err := l.Client.Obtain(ctx, []string{l.Key}, world.Long, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		time.AfterFunc(world.ReplyTimeout/2, goOn) // Close waits for it
		l.Client.Close()
		freeSoon(t, l, 5*time.Second)
	})
}

// asksOnce gives up only when it is certain that no reply comes, and does not ask again then.
func asksOnce(o *redis.Options) { o.ReadTimeout, o.MaxRetries = world.Long, -1 }

func TestSharedToken(t *testing.T) {
	t.Parallel()
	t.Run("a clean-up of one Client leaves alone what another one holds", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, asksOnce)

		l.Relay.CutReplies()
		_, err := redislock.New(l.RDB).As(t.Name()).Obtain(t.Context(), []string{l.Key}, world.Long, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		lock := check.Must[*redislock.Lock](t)(redislock.New(l.RDB).As(t.Name()).Obtain(t.Context(), []string{l.Key}, world.Long, nil))
		world.WantStillHeld(t, l, lock, 500*time.Millisecond)
	})
	t.Run("a lock left to expire does not keep a clean-up away", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, world.Impatient)

		check.Must[*redislock.Lock](t)(l.Client.As(t.Name()).Obtain(t.Context(), []string{l.Key}, time.Second, nil))
		freeSoon(t, l, 5*time.Second)
		l.Relay.CutReplies()
		_, err := l.Client.As(t.Name()).Obtain(t.Context(), []string{l.Key}, time.Hour, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		freeSoon(t, l, 5*time.Second)
	})
	t.Run("a clean-up delays no other keys", func(t *testing.T) {
		t.Parallel()
		l := world.NewLossy(t, asksOnce)

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l.Relay.OnRequest(func(string, []string) { cancel() })
		l.Relay.DropReplies(true)
		_, err := l.Client.As(t.Name()).Obtain(ctx, []string{l.Key}, world.Long, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		l.Relay.DropReplies(false)
		l.Relay.Cut() // whoever waits for a reply that was dropped knows that none comes
		watch := check.StartWatch(t)
		lock := check.Must[*redislock.Lock](t)(l.Client.As(t.Name()).Obtain(t.Context(), []string{l.Key + "other"}, world.Long, nil))
		if waited := watch.Took(); waited > 5*time.Second {
			t.Errorf("waited %v for the clean-up of another key", waited)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
	t.Run("claims and Close at the same time", func(t *testing.T) {
		t.Parallel()
		b := redistest.Shared(t, redistest.Redis)
		rdb := b.Client(t)
		for i := range 100 {
			client := redislock.New(rdb)
			closed := make(chan struct{})
			go func() { defer close(closed); client.Close() }()
			lock, err := client.As(t.Name()).Obtain(t.Context(), []string{fmt.Sprint(t.Name(), i)}, world.Long,
				&redislock.Options{Watchdog: true})
			<-closed
			if err == nil {
				check.NoError(t, lock.Release(t.Context()))
			}
		}
	})
}

func TestCloseBesideWaiters(t *testing.T) {
	t.Parallel()
	b := redistest.Shared(t, redistest.Redis)
	holder := check.Must[*redislock.Lock](t)(redislock.New(b.Client(t)).Obtain(t.Context(), []string{t.Name()}, world.Long, nil))
	relay := redistest.NewRelay(t, b.Addr())
	relay.DelayReplies(10 * time.Millisecond)
	rdb := relay.Client(t)
	asked := check.Count(rdb, "eval")
	client := redislock.New(rdb)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := client.Obtain(t.Context(), []string{t.Name()}, world.Long,
				&redislock.Options{RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond)})
			check.Is(t, err, redis.ErrClosed)
		})
	}
	check.Eventually(t, time.Minute, "all of them wait", func() bool { return asked.Load() > 200 })
	client.Close()
	wg.Wait()
	check.NoError(t, holder.Release(t.Context()))
}

func TestWithInsideWith(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		var inner error
		outer := w.Client.With(t.Context(), w.Keys("outer"), 3*time.Second, nil, func(ctx context.Context) error {
			inner = w.Client.With(ctx, w.Keys("inner"), time.Hour, nil, func(ctx context.Context) error {
				check.NoError(t, w.RDB.Del(context.WithoutCancel(ctx), w.Key("outer")).Err())
				<-ctx.Done()
				return nil
			})
			return nil
		})
		check.Is(t, outer, redislock.ErrLockLost)
		if inner != nil {
			t.Errorf("got error %v of the inner lock, which was not lost", inner)
		}
	})
}

// An intent lasts as long as the wait really is, not as the strategy would have it.
func TestIntentOfLongWaits(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		reader := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), 30*time.Second, nil))
		wait := func(wait time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := w.Client.Obtain(ctx, w.Keys("a"), world.Long, &redislock.Options{
					Intent: true, RetryStrategy: func() redislock.BackOff { return backoff.NewConstantBackOff(wait) },
				})
				ended <- err
			}()
			check.Eventually(t, 5*time.Second, "the intent is declared", func() bool {
				ttl := w.RDB.PTTL(t.Context(), world.IntentOf(w.Key("a"))).Val()
				if ttl > 33*time.Second {
					t.Errorf("got an intent of %v behind a lease of 30s", ttl)
				}
				return ttl > 0
			})
			cancel()
			check.Is(t, <-ended, redislock.ErrNotObtained)
			check.Eventually(t, 5*time.Second, "the intent is withdrawn", func() bool {
				return w.RDB.Exists(t.Context(), world.IntentOf(w.Key("a"))).Val() == 0
			})
		}
		wait(time.Hour)
		wait(math.MaxInt64)
		_ = reader.Release(t.Context())
	})
}

// A node of a Cluster addressed as if it were a server by itself refuses what travels together.
func TestClusterNodeByItself(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis, "--cluster-enabled", "yes")
	rdb := server.Client(t)
	check.NoError(t, rdb.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	check.Eventually(t, 10*time.Second, "the cluster is up", func() bool { return rdb.Set(t.Context(), "x", 1, 0).Err() == nil })
	w := world.New(t, server)
	runs := check.Count(w.RDB, "eval")
	const pairs = 200
	var wg sync.WaitGroup
	for i := range pairs {
		wg.Go(func() {
			lock, err := w.Client.Obtain(t.Context(), w.Keys(fmt.Sprint(i)), time.Hour, nil)
			if err == nil {
				err = lock.Release(t.Context())
			}
			if err != nil {
				t.Errorf("unexpected error: %v", err)
			}
		})
	}
	wg.Wait()
	w.Client.Close() // and what it would still have cleared up
	if n := runs.Load(); n > 3*pairs+20 {
		t.Errorf("sent %d scripts for %d pairs", n, pairs)
	}
}

func TestCleanUpsEnd(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		check.NoError(t, w.RDB.Ping(t.Context()).Err())
		mini.Miniredis().SetError("UNBLOCKED force unblock from blocking operation, instance state changed")
		_, err := w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		mini.Miniredis().SetError("")
		time.Sleep(15 * time.Second) // nothing can be on its way any more
		before := mini.Miniredis().CommandCount()
		time.Sleep(time.Hour)
		if more := mini.Miniredis().CommandCount() - before; more != 0 {
			t.Errorf("%d commands after the clean-up was confirmed", more)
		}
	})
}

// A caller may use its slice again as soon as Inspect has returned.
func TestInspectKeepsNoSlice(t *testing.T) {
	t.Parallel()
	l := world.NewLossy(t, func(*redis.Options) {})
	l.Relay.HoldRequests()
	keys := []string{l.Key, l.Key + "x"}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := l.Client.Inspect(ctx, keys)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got error %v", err)
	}
	keys[0], keys[1] = keys[1], keys[0]
	l.Relay.ReleaseRequests()
}
