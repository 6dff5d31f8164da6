package quick_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An error names why Redis takes no connections also when the context has ended first.
func TestRefusalIsNamed(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, mods ...func(*redis.Options)) (*redislock.Client, *redistest.Relay) {
		t.Helper()
		relay := redistest.NewRelay(t, redistest.Shared(t, redistest.Redis).Addr())
		client := redislock.New(relay.Client(t, append(mods, func(opt *redis.Options) { opt.DialerRetries = 1 })...))
		t.Cleanup(client.Close)
		return client, relay
	}
	named := func(t *testing.T, err error) {
		t.Helper()
		check.Is(t, err, context.Canceled, syscall.ECONNREFUSED)
		if !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got error %q, want it to name the refusal", err)
		}
	}
	waits := func(fn func(n int) time.Duration) *redislock.Options {
		return &redislock.Options{RetryStrategy: func() redislock.BackOff {
			n := 0
			return nextBackOff(func() time.Duration { n++; return fn(n) })
		}}
	}

	t.Run("in a pause between tries", func(t *testing.T) {
		t.Parallel()
		client, relay := refused(t, func(opt *redis.Options) { opt.MaxRetries = 1 << 20 }) // the pauses get very long
		relay.Refuse(true)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel)
		_, err := client.Obtain(ctx, []string{t.Name()}, world.Long, nil)
		named(t, err)
	})
	t.Run("while the strategy waits", func(t *testing.T) {
		t.Parallel()
		client, relay := refused(t, world.Impatient)
		relay.Refuse(true)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := client.Obtain(ctx, []string{t.Name()}, world.Long, waits(func(int) time.Duration {
			cancel()
			return time.Hour
		}))
		named(t, err)
		if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrUnknownOutcome) {
			t.Errorf("got error %v, want it to be neither: nothing was sent", err)
		}
	})
	t.Run("after a conflict", func(t *testing.T) {
		t.Parallel()
		client, relay := refused(t, world.Impatient)
		direct := redistest.Shared(t, redistest.Redis).Client(t)
		holder := check.Must[*redislock.Lock](t)(redislock.Obtain(t.Context(), direct, []string{t.Name()}, world.Long, nil))
		defer func() { _ = holder.Release(t.Context()) }()
		check.NoError(t, client.Attach([]string{t.Name()}, holder.Token()).Refresh(t.Context(), world.Long)) // it has a connection
		ctx, cancel := context.WithCancel(t.Context())
		_, err := client.Obtain(ctx, []string{t.Name()}, world.Long, waits(func(n int) time.Duration {
			if n == 2 {
				cancel()
			}
			relay.Refuse(true)
			relay.Cut()
			return 50 * time.Millisecond // until the connection has noticed
		}))
		world.WantConflict(t, err, t.Name(), redislock.ModeWrite)
		check.Is(t, err, context.Canceled)
		if before, after, _ := strings.Cut(err.Error(), "; then: "); after == "" {
			t.Errorf("got error %q, want it to say what came after the conflict", before)
		}
	})
	t.Run("while a try is under way", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var dials atomic.Int64
		rdb := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:0", DialerRetries: 1,
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				if dials.Add(1) > 1 {
					cancel()
					<-t.Context().Done()
				}
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			},
		})
		t.Cleanup(func() { _ = rdb.Close() })
		client := redislock.New(rdb)
		t.Cleanup(client.Close)
		_, err := client.Obtain(ctx, []string{t.Name()}, world.Long, nil)
		named(t, err)
		check.Is(t, err, redislock.ErrUnknownOutcome)
	})
}
