package redislock_test

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
)

// holdFirst calls seen, which may be nil, for the first script, and keeps that on its way until it is let
// go on; the tries after it pass.
func (l *lossy) holdFirst(t *testing.T, seen func()) (goOn func()) {
	t.Helper()
	held := make(chan struct{})
	goOn = sync.OnceFunc(func() { close(held) })
	t.Cleanup(goOn)
	var n atomic.Int32
	l.relay.OnRequest(func(name string, _ []string) {
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
func (l *lossy) obtainsElsewhere(t *testing.T) bool {
	t.Helper()
	_, err := redislock.New(l.direct).Obtain(t.Context(), []string{l.key}, long, nil)
	return err == nil
}

// freeSoon checks that nothing keeps the key, long before any ttl of the test is over.
func (l *lossy) freeSoon(t *testing.T, within time.Duration) {
	t.Helper()
	eventually(t, within, "the key is free", func() bool {
		return must[int64](t)(l.direct.Exists(t.Context(), l.key).Result()) == 0
	})
}

// What a request does that reaches the server after a later one.
func TestLateRequests(t *testing.T) {
	t.Parallel()
	t.Run("a Refresh that shortens: the deadline moves before it is answered", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, func(*redis.Options) {})
		lock := l.obtain(t, l.key)
		l.relay.DropReplies(true)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- lock.Refresh(ctx, time.Second) }()
		eventually(t, 10*time.Second, "another has the key", func() bool { return l.obtainsElsewhere(t) })
		if left := time.Until(lock.Deadline()); left > 0 {
			t.Errorf("two holders: the first has %v left", left)
		}
		cancel()
		wantIs(t, <-ended, redislock.ErrUnknownOutcome)
	})
	t.Run("a Refresh that shortens and is not answered: the watchdog goes on", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, func(*redis.Options) {})
		lock := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key}, long, watched))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l.relay.OnRequest(func(name string, args []string) {
			if operationOf(name, args) == "refresh" {
				cancel()
			}
		})
		l.relay.DropReplies(true)
		const ttl = 6 * time.Second
		wantIs(t, lock.Refresh(ctx, ttl), redislock.ErrUnknownOutcome)
		l.relay.DropReplies(false)
		ctx, short := lock.Context(t.Context()), time.Now().Add(ttl)
		eventually(t, 2*ttl, "the lease is renewed, beyond the short one", func() bool {
			return isDone(ctx) || lock.Deadline().After(short)
		})
		if isDone(ctx) {
			t.Error("lost, although the server answers")
		}
	})
	t.Run("a Refresh that lengthens, after which a Release is not answered: nothing stays", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		lock := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key}, 4*time.Second, nil))
		known := lock.Deadline()
		l.relay.CutReplies()
		wantIs(t, lock.Refresh(t.Context(), time.Hour), redislock.ErrUnknownOutcome)
		l.relay.Blackhole(true)
		wantIs(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome)
		time.Sleep(time.Until(known) + 500*time.Millisecond) // beyond the deadline that is known
		l.relay.Cut()
		l.relay.Blackhole(false)
		l.freeSoon(t, 10*time.Second)
	})
	t.Run("an Obtain after Close: nothing stays", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, func(*redis.Options) {})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		goOn := l.holdFirst(t, cancel)
		_, err := l.client.Obtain(ctx, []string{l.key}, long, nil)
		wantIs(t, err, redislock.ErrUnknownOutcome)
		time.AfterFunc(replyTimeout/2, goOn) // Close waits for it
		l.client.Close()
		l.freeSoon(t, 5*time.Second)
	})
}

func TestSharedToken(t *testing.T) {
	t.Parallel()
	t.Run("a clean-up of one Client leaves alone what another one holds", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		opt := &redislock.Options{Token: t.Name()}
		l.relay.CutReplies()
		_, err := redislock.Obtain(t.Context(), l.rdb, []string{l.key}, long, opt)
		wantIs(t, err, redislock.ErrUnknownOutcome)
		lock := must[*redislock.Lock](t)(redislock.Obtain(t.Context(), l.rdb, []string{l.key}, long, opt))
		stillHeld(t, l, lock, 500*time.Millisecond)
	})
	t.Run("a lock left to expire does not keep a clean-up away", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		opt := &redislock.Options{Token: t.Name()}
		must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key}, time.Second, opt))
		l.freeSoon(t, 5*time.Second)
		l.relay.CutReplies()
		_, err := l.client.Obtain(t.Context(), []string{l.key}, time.Hour, opt)
		wantIs(t, err, redislock.ErrUnknownOutcome)
		l.freeSoon(t, 5*time.Second)
	})
	t.Run("a clean-up delays no other keys", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		opt := &redislock.Options{Token: t.Name()}
		l.relay.DropReplies(true)
		_, err := l.client.Obtain(t.Context(), []string{l.key}, long, opt)
		wantIs(t, err, redislock.ErrUnknownOutcome)
		l.relay.DropReplies(false)
		began := time.Now()
		lock := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key + "other"}, long, opt))
		if waited := time.Since(began); waited > 5*time.Second {
			t.Errorf("waited %v for the clean-up of another key", waited)
		}
		noError(t, lock.Release(t.Context()))
	})
	t.Run("claims and Close at the same time", func(t *testing.T) {
		t.Parallel()
		b := redistest.Shared(t, redistest.Redis)
		rdb := b.Client(t)
		for i := range 100 {
			client := redislock.New(rdb)
			closed := make(chan struct{})
			go func() { defer close(closed); client.Close() }()
			lock, err := client.Obtain(t.Context(), []string{fmt.Sprint(t.Name(), i)}, long,
				&redislock.Options{Token: t.Name(), Watchdog: true})
			<-closed
			if err == nil {
				noError(t, lock.Release(t.Context()))
			}
		}
	})
}

func TestCloseBesideWaiters(t *testing.T) {
	t.Parallel()
	b := redistest.Shared(t, redistest.Redis)
	holder := must[*redislock.Lock](t)(redislock.New(b.Client(t)).Obtain(t.Context(), []string{t.Name()}, long, nil))
	relay := redistest.NewRelay(t, b.Addr())
	relay.DelayReplies(10 * time.Millisecond)
	asked := &check.Tally{Prefix: "eval"}
	rdb := relay.Client(t)
	rdb.AddHook(asked)
	client := redislock.New(rdb)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := client.Obtain(t.Context(), []string{t.Name()}, long,
				&redislock.Options{RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond)})
			wantIs(t, err, redis.ErrClosed)
		})
	}
	eventually(t, 10*time.Second, "all of them wait", func() bool { return asked.Sent.Load() > 200 })
	client.Close()
	wg.Wait()
	noError(t, holder.Release(t.Context()))
}

func TestWithInsideWith(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
		var inner error
		outer := w.client.With(t.Context(), w.keys("outer"), 3*time.Second, nil, func(ctx context.Context) error {
			inner = w.client.With(ctx, w.keys("inner"), time.Hour, nil, func(ctx context.Context) error {
				noError(t, w.rdb.Del(context.WithoutCancel(ctx), w.key("outer")).Err())
				<-ctx.Done()
				return nil
			})
			return nil
		})
		wantIs(t, outer, redislock.ErrLockLost)
		if inner != nil {
			t.Errorf("got error %v of the inner lock, which was not lost", inner)
		}
	})
}

// An intent lasts as long as the wait really is, not as the strategy would have it.
func TestIntentOfLongWaits(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		reader := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), 30*time.Second, nil))
		wait := func(wait time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := w.client.Obtain(ctx, w.keys("a"), long, &redislock.Options{
					Intent: true, RetryStrategy: func() backoff.BackOff { return backoff.NewConstantBackOff(wait) },
				})
				ended <- err
			}()
			eventually(t, 5*time.Second, "the intent is declared", func() bool {
				ttl := w.rdb.PTTL(t.Context(), intentOf(w.key("a"))).Val()
				if ttl > 33*time.Second {
					t.Errorf("got an intent of %v behind a lease of 30s", ttl)
				}
				return ttl > 0
			})
			cancel()
			wantIs(t, <-ended, redislock.ErrNotObtained)
			eventually(t, 5*time.Second, "the intent is withdrawn", func() bool {
				return w.rdb.Exists(t.Context(), intentOf(w.key("a"))).Val() == 0
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
	noError(t, rdb.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	eventually(t, 10*time.Second, "the cluster is up", func() bool { return rdb.Set(t.Context(), "x", 1, 0).Err() == nil })
	w := newWorld(t, server)
	runs := &check.Tally{Prefix: "eval"}
	w.rdb.AddHook(runs)
	const pairs = 200
	var wg sync.WaitGroup
	for i := range pairs {
		wg.Go(func() {
			lock, err := w.client.Obtain(t.Context(), w.keys(fmt.Sprint(i)), time.Hour, nil)
			if err == nil {
				err = lock.Release(t.Context())
			}
			if err != nil {
				t.Errorf("unexpected error: %v", err)
			}
		})
	}
	wg.Wait()
	w.client.Close() // and what it would still have cleared up
	if n := runs.Sent.Load(); n > 3*pairs+20 {
		t.Errorf("sent %d scripts for %d pairs", n, pairs)
	}
}

func TestCleanUpsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, mini *redistest.Mini, _ *journal) {
		noError(t, w.rdb.Ping(t.Context()).Err())
		mini.Miniredis().SetError("UNBLOCKED force unblock from blocking operation, instance state changed")
		_, err := w.client.Obtain(t.Context(), w.keys("a"), time.Hour, nil)
		wantIs(t, err, redislock.ErrUnknownOutcome)
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
	l := newLossy(t, func(*redis.Options) {})
	l.relay.HoldRequests()
	keys := []string{l.key, l.key + "x"}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := l.client.Inspect(ctx, keys...)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got error %v", err)
	}
	keys[0], keys[1] = keys[1], keys[0]
	l.relay.ReleaseRequests()
}
