package outcome_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// sharedKeys returns a function that returns the keys of all calls that have shared a script since then.
func (c *convoy) sharedKeys() func() []string {
	var mu sync.Mutex
	keys := make(map[string]bool)
	c.RDB.AddHook(check.Around{Before: func(cmd redis.Cmder) {
		mu.Lock()
		defer mu.Unlock()
		for _, call := range check.RunIn(cmd).Batch {
			for _, key := range call.Set.Keys {
				if key, mine := strings.CutPrefix(key, c.Prefix); mine {
					keys[key] = true
				}
			}
		}
	}})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(maps.Keys(keys))
	}
}

// Obtains that are in line, and hear their messages, go together with others as long as they have no place. One that wants what others of its
// Client wait for goes by itself: it will most likely have to wait, which what goes together cannot tell it.
func TestInLineTogether(t *testing.T) {
	t.Parallel()
	inConvoy(t, func(t *testing.T, c *convoy) {
		ctx, cancel := context.WithCancel(t.Context())
		var waiters sync.WaitGroup
		waits := func() {
			waiters.Go(func() {
				_, err := c.Client.Obtain(world.Apart(ctx), c.Keys("held"), time.Hour, world.Queue())
				check.Is(t, err, context.Canceled)
			})
		}
		other := world.NewClient(t, c.RDB)
		check.Must[*redislock.Lock](t)(other.Obtain(t.Context(), c.Keys("held"), time.Hour, nil))
		waits() // from now on messages are heard
		c.InLine(t, c.Key("held"), 1)
		var calls []func()
		want := []string{"free0", "free1", "free2", "free3", "free4", "free5", "free6", "free7"}
		for _, key := range want {
			calls = append(calls, func() {
				check.Must[*redislock.Lock](t)(c.Client.Obtain(t.Context(), c.Keys(key), time.Hour, world.Queue()))
			})
		}
		shared := c.sharedKeys()
		c.together(t, append(calls, waits)...)
		if diff := cmp.Diff(want, shared()); diff != "" {
			t.Errorf("what shares a script is what finds nobody in front of it (-want +got):\n%s", diff)
		}
		c.InLine(t, c.Key("held"), 2)
		cancel()
		waiters.Wait()
	})
}

// Releases of read locks share no script with others: the script that many requests share does not end the lease of a reader.
func TestReadersReleaseByThemselves(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]redislock.ClientOption{
		"without hooks": nil, "with hooks": {redislock.WithHooks(new(world.Journal).Hooks())},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inConvoy(t, func(t *testing.T, c *convoy) {
				c.Client = world.NewClient(t, c.RDB, opts...)
				var calls []func()
				want := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
				for _, key := range want {
					for _, set := range []redislock.Set{{Write: c.Keys(key)}, {Read: c.Keys("read" + key)}} {
						lock := check.Must[*redislock.Lock](t)(c.Client.ObtainSet(t.Context(), set, time.Hour, nil))
						calls = append(calls, func() { check.NoError(t, lock.Release(t.Context())) })
					}
				}
				shared := c.sharedKeys()
				c.together(t, calls...)
				if diff := cmp.Diff(want, shared()); diff != "" {
					t.Errorf("what shares a script is the Release of write locks (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// wholeSeconds have callers ask again at the same moments: whenever a second of the bubble is over.
type wholeSeconds struct{}

func (wholeSeconds) NextBackOff() time.Duration {
	now := time.Now()
	return now.Truncate(time.Second).Add(time.Second).Sub(now)
}

// inUnison are the options of a caller that asks again with all others.
var inUnison = &redislock.Options{RetryStrategy: func() redislock.BackOff { return wholeSeconds{} }}

// Callers that want the same keys, and ask again at the same time, go together, and then the refusal of one of them is that of all.
func TestRefusedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		p := &world.FakeServer{Script: func(run check.Run) string {
			if run.Obtain == nil { // the first requests that share a script
				return fmt.Sprintf("*%d\r\n", len(run.Batch)) + strings.Repeat(":0\r\n", len(run.Batch))
			}
			asked.Add(1)
			time.Sleep(10 * time.Millisecond) // in which the others gather
			return world.HeldBySomebody
		}}
		client := world.NewClient(t, p.Client(t))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				_, err := client.Obtain(world.Apart(ctx), []string{"k"}, time.Hour, inUnison)
				check.Is(t, err, context.Canceled)
			})
		}
		time.Sleep(1500 * time.Millisecond)
		asked.Store(0)
		const rounds = 4
		time.Sleep(rounds * time.Second)
		if got := asked.Load(); got != 2*rounds {
			t.Errorf("in %d rounds of 5 callers %d requests were sent, want one of the first and one of the others in each", rounds, got)
		}
		cancel()
		all.Wait()
	})
}

// Callers that were refused and ask again keep no Release waiting, however slow the server is, and one of them asks at a time.
func TestRepeatsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = 40 * time.Millisecond // less than what has others go past it
		began := time.Now()
		asks := func() bool { return time.Since(began) >= time.Second }
		var mu sync.Mutex
		var under []time.Duration // when those came that ask again
		var released time.Duration
		p := &world.FakeServer{Script: func(run check.Run) string {
			mu.Lock()
			at, isFirst := time.Since(began), !asks()
			switch {
			case run.Release != nil:
				released = at
			case !isFirst:
				under = append(under, at)
			}
			mu.Unlock()
			switch {
			case run.Release != nil || run.Set.Keys[0] == "mine":
				return ":1\r\n"
			case !isFirst:
				time.Sleep(slow)
			}
			return world.HeldBySomebody
		}}
		client := world.NewClient(t, p.Client(t))
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"mine"}, time.Hour, nil))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				_, err := client.Obtain(ctx, []string{fmt.Sprint("k", i)}, time.Hour, inUnison)
				check.Is(t, err, context.Canceled)
			})
		}
		time.Sleep(time.Second + 10*time.Millisecond)
		check.NoError(t, lock.Release(t.Context()))
		time.Sleep(3 * slow)
		mu.Lock()
		if want := time.Second + 10*time.Millisecond; released != want {
			t.Errorf("the Release was sent after %v, want %v", released, want)
		}
		if want := []time.Duration{time.Second, time.Second + slow, time.Second + 2*slow}; !slices.Equal(under, want) {
			t.Errorf("they have asked again after %v, want %v", under, want)
		}
		mu.Unlock()
		cancel()
		all.Wait()
	})
}

// Of two requests under one token that are under way at the same time, the later one closes the earlier one if that may take write keys
// away, as one of readers may, and no other.
func TestTakesBesideOthersOfItsToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  redislock.Set
		want []bool // which of them closes another one
	}{
		"write":          {redislock.Set{Write: []string{"a"}}, []bool{false, false}},
		"read":           {redislock.Set{Read: []string{"a"}}, []bool{false, true}},
		"write and read": {redislock.Set{Write: []string{"a"}, Read: []string{"b"}}, []bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var closes []bool
				p := &world.FakeServer{Script: func(run check.Run) string {
					if run.Obtain != nil {
						mu.Lock()
						closes = append(closes, run.Closes())
						mu.Unlock()
						time.Sleep(30 * time.Millisecond)
					}
					return ":1\r\n"
				}}
				client := world.NewClient(t, p.Client(t))
				var all sync.WaitGroup
				for range 2 {
					all.Go(func() {
						check.Must[*redislock.Lock](t)(client.As(t.Name()).ObtainSet(t.Context(), c.set, time.Hour, nil))
					})
					time.Sleep(10 * time.Millisecond)
				}
				all.Wait()
				if !slices.Equal(closes, c.want) {
					t.Errorf("got %v, want %v", closes, c.want)
				}
			})
		})
	}
}

// A slowlyGone is a connection that takes a request slowly, and to which nobody answers, once the test says so.
type slowlyGone struct {
	net.Conn
	gone *atomic.Bool
	slow time.Duration
}

func (c slowlyGone) Write(p []byte) (int, error) {
	if !c.gone.Load() {
		return c.Conn.Write(p)
	}
	time.Sleep(c.slow)
	return len(p), nil
}

// An attempt for many keys ends when its bound is over, also if writing so large a request takes long: its caller does not do that itself.
func TestBoundOfManyKeys(t *testing.T) {
	t.Parallel()
	const ttl, read, write = 4 * time.Second, 3 * time.Second, 3 * time.Second
	var gone atomic.Bool
	whileStuck(t, func(t *testing.T, w *world.World, _ *stuckNetwork) {
		keys := world.Numbered(w.Key("k"), 65) // more than what fits into a buffer
		for range 2 {
			began := time.Now()
			lock, err := w.Client.Obtain(context.Background(), keys, ttl, world.Fenced())
			if !gone.Load() {
				check.NoError(t, err)
				check.NoError(t, lock.Release(context.Background()))
				gone.Store(true)
				continue
			}
			check.Is(t, err, redislock.ErrUnknownOutcome)
			if took := time.Since(began); took != ttl {
				t.Errorf("it took %v, want %v", took, ttl)
			}
		}
	}, func(opt *redis.Options) {
		opt.ReadTimeout, opt.WriteTimeout = read, write
		dial := opt.Dialer
		opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return slowlyGone{conn, &gone, write - time.Millisecond}, err
		}
	})
}
