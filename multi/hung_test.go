package multi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// A part whose server does not answer keeps those before it locked for the ttl, or one read time-out, also
// on a context without end.
func TestHungPart(t *testing.T) {
	t.Parallel()
	const read, tries = 2 * time.Second, 4
	for name, ttl := range map[string]time.Duration{"short ttl": time.Second, "long ttl": 3 * time.Second} {
		for _, watchdog := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", watched", false: ""}[watchdog], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, redistest.Shared(t, redistest.Redis))
				server := redistest.Start(t, redistest.Redis)
				w.clients[1] = w.newClient(t, server.Client(t, func(opt *redis.Options) { opt.ReadTimeout = read }))
				w.warmUp(t)
				server.Pause()
				began := time.Now()
				_, err := multi.Obtain(context.Background(), w.abc(), ttl, &redislock.Options{Watchdog: watchdog})
				took := time.Since(began)
				server.Resume()
				wantIs(t, err, redislock.ErrUnknownOutcome)
				if !strings.Contains(err.Error(), "part 2 of 3") {
					t.Errorf("got error %q, want it to name part 2", err)
				}
				if took > tries*read-time.Second {
					t.Errorf("it took %v, want it to take no longer than the ttl of %v or one read time-out of %v", took, ttl, read)
				}
				w.wantFree(t, "a", "c")
			})
		}
	}
}

// The same in line: a server that hangs while one waits there does not keep the parts before it locked.
func TestHungInLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Shared(t, redistest.Redis))
	server := redistest.Start(t, redistest.Redis)
	w.clients[1] = w.newClient(t, server.Client(t, func(opt *redis.Options) { opt.ReadTimeout = time.Second }))
	w.warmUp(t)
	other := redislock.New(server.Client(t))
	t.Cleanup(other.Close)
	part := w.part(1, "b")
	must[*redislock.Lock](t)(other.Obtain(bounded(t), part.Write, long, nil))
	ended := make(chan error, 1)
	go func() {
		lock, err := multi.Obtain(bounded(t), w.abc(), 2*time.Second, &redislock.Options{Queue: true, Watchdog: true})
		if err == nil {
			_ = lock.Release(bounded(t))
		}
		ended <- err
	}()
	check.Eventually(t, longest, "it stands in line", func() bool {
		states, err := other.Inspect(bounded(t), part.Write)
		return err == nil && len(states[0].Line) == 1
	})
	server.Pause()
	err := receive(t, ended)
	server.Resume()
	wantIs(t, err, redislock.ErrUnknownOutcome)
	w.wantFree(t, "a", "c")
}

// A Release frees the other parts beside one whose server does not answer.
func TestHungRelease(t *testing.T) {
	slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
		w.clients[1] = w.newClient(t, relay.Client(t, neverGivesUp))
		w.warmUp(t)
		lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, nil))
		defer relay.Cut() // or its Client would wait for it
		defer relay.DropReplies(false)
		relay.DropReplies(true)
		ctx, cancel := context.WithCancel(bounded(t))
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- lock.Release(ctx) }()
		w.wantSoonFree(t, "a", "c")
		select {
		case err := <-done:
			t.Fatalf("the release has ended with %v, want it to wait for the part that does not answer", err)
		default:
		}
		cancel()
		wantIs(t, receive(t, done), redislock.ErrUnknownOutcome)
	})
}

// The error of a server that takes no connections is not hidden by the end of the context.
func TestRefusedPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Shared(t, redistest.Redis))
	relay := redistest.NewRelay(t, w.rdb.Options().Addr)
	w.clients[1] = w.newClient(t, relay.Client(t, func(opt *redis.Options) { opt.MaxRetries, opt.DialerRetries = -1, 1 }))
	relay.Refuse(true)
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	tries := 0
	_, err := multi.Obtain(ctx, w.abc(), long, &redislock.Options{RetryStrategy: func() redislock.BackOff {
		return wait(func() time.Duration {
			if tries++; tries == 3 {
				cancel()
			}
			return time.Millisecond
		})
	}})
	wantIs(t, err, context.Canceled)
	if !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), "part 2 of 3") {
		t.Errorf("got error %q, want it to name the refusal, and part 2", err)
	}
	w.wantFree(t, "a", "c")
}
