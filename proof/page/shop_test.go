package page

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A shop is what the examples are of.
type shop struct {
	b   redistest.Backend
	rdb *redis.Client
}

func (s *shop) client(t *testing.T, rdb *redis.Client) *redislock.Client {
	t.Helper()
	return world.NewClient(t, rdb, redislock.WithMetadata("host=web-3 pid=812"))
}

// fill has everything stand in Redis that the examples show.
func (s *shop) fill(t *testing.T) {
	t.Helper()
	c, held := s.client(t, s.rdb), time.Hour
	ctx, end := context.WithCancel(redislock.WithCaller(t.Context(), "request-31"))
	must := check.Must[*redislock.Lock](t)
	fenced := &redislock.Options{Fenced: true}
	must(c.Obtain(t.Context(), []string{"lock:stock:9"}, held, fenced))
	must(c.Obtain(ctx, []string{"lock:order:7"}, held, nil))
	must(c.ObtainRead(ctx, []string{"lock:price:9"}, held, fenced))
	must(c.ObtainRead(t.Context(), []string{"lock:price:9"}, 2*held, fenced))
	var waiting sync.WaitGroup
	waiting.Go(func() {
		_, _ = c.Obtain(ctx, []string{"lock:order:7", "lock:stock:9"}, time.Minute, &redislock.Options{Queue: true, Fenced: true})
	})
	polling, stop := context.WithCancel(t.Context())
	waiting.Go(func() {
		_, _ = c.Obtain(polling, []string{"lock:price:9"}, time.Minute, &redislock.Options{
			Intent: true, RetryStrategy: redislock.LinearBackoff(time.Minute),
		})
	})
	t.Cleanup(func() {
		end()
		stop()
		waiting.Wait()
	})

	rdb := s.b.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
	var once sync.Once
	rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
		if check.RunIn(cmd).Of("obtain") && cmd.Err() == nil {
			once.Do(func() { cmd.SetErr(os.ErrDeadlineExceeded) })
		}
	}})
	_, err := world.NewClient(t, rdb).Obtain(t.Context(), []string{"lock:bill:3"}, held, nil)
	if !errors.Is(err, redislock.ErrUnknownOutcome) {
		t.Errorf("got %v of an Obtain that was not answered", err)
	}
	for _, key := range []string{"redislock:line:{lock:bill:3}", "redislock:line:{lock:stock:9}", "redislock:intent:{lock:price:9}"} {
		check.Eventually(t, world.Polled, key, func() bool { return s.rdb.Exists(t.Context(), key).Val() > 0 })
	}
}

// hear has everything heard that is published. It returns the messages so far, each form of them once.
func (s *shop) hear(t *testing.T) (heard func() []string) {
	t.Helper()
	var mu sync.Mutex
	seen := map[string]bool{}
	pubsub := s.rdb.PSubscribe(t.Context(), "redislock:*")
	check.Must[any](t)(pubsub.Receive(t.Context()))
	var listening sync.WaitGroup
	messages := pubsub.Channel()
	listening.Go(func() {
		for m := range messages {
			mu.Lock()
			seen[maskedMessage(m.Payload)] = true
			mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = pubsub.Close()
		listening.Wait()
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(maps.Keys(seen))
	}
}

// tellAll has each message published that there is.
func (s *shop) tellAll(t *testing.T) {
	t.Helper()
	a, b, c := s.client(t, s.rdb), s.client(t, s.rdb), s.client(t, s.rdb)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	must := check.Must[*redislock.Lock](t)
	const long, short = time.Hour, 3 * time.Second
	// wait has a client wait, and release what it has been granted once the others have come.
	wait := func(c *redislock.Client, ttl time.Duration, opt redislock.Options, keys ...string) (release chan struct{}) {
		release = make(chan struct{})
		line := slot.Beside("line", keys[0])
		before := s.rdb.ZCard(t.Context(), line).Val()
		opt.Queue = true
		waiting.Go(func() {
			lock, err := c.Obtain(world.Apart(t.Context()), keys, ttl, &opt)
			if err != nil {
				t.Errorf("obtain %v: %v", keys, err)
				return
			}
			<-release
			if err := lock.Release(t.Context()); err != nil && !errors.Is(err, redislock.ErrLockNotHeld) {
				t.Errorf("release %v: %v", keys, err)
			}
		})
		check.Eventually(t, world.Polled, "a waiter", func() bool { return s.rdb.ZCard(t.Context(), line).Val() > before })
		return release
	}

	// A grant with a number; and the next, of another Client, hears of the lease, which is short.
	fenced := redislock.Options{Fenced: true}
	first := must(a.Obtain(t.Context(), []string{"lock:stock:9"}, long, &fenced))
	releases := []chan struct{}{wait(b, short, fenced, "lock:stock:9"), wait(c, long, fenced, "lock:stock:9")}
	check.NoError(t, first.Release(t.Context()))
	// A grant without; and the next, of the same Client, hears of the lease in the same message.
	second := must(a.Obtain(t.Context(), []string{"lock:order:7"}, long, nil))
	releases = append(releases, wait(b, short, redislock.Options{}, "lock:order:7"), wait(b, long, redislock.Options{}, "lock:order:7"))
	check.NoError(t, second.Release(t.Context()))
	for _, release := range releases {
		close(release)
	}
	// Somebody waits for two keys, and the script that frees one of them does not have the other.
	third := must(a.Obtain(t.Context(), []string{"lock:price:1"}, long, nil))
	both := wait(b, long, redislock.Options{}, "lock:price:1", "lock:price:2")
	check.NoError(t, third.Release(t.Context()))
	close(both)
	waiting.Wait()
	must(a.Obtain(t.Context(), []string{"lock:stock:9"}, long, nil))
	check.Must[[]redislock.Holder](t)(a.Break(t.Context(), []string{"lock:stock:9"}, "deploy 42"))
}
