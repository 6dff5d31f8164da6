package outcome_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/world"
)

// The hooks of a Redis client see what a caller has put into the context of its Obtain, however that asks.
func TestObtainSendsItsContext(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]*redislock.Options{
		"once": nil, "with Wait": {Wait: time.Minute}, "with an intent": {Intent: true}, "in line": {Queue: true}, "fenced": world.Fenced(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newAsked()
				rdb := s.Client(t)
				var mu sync.Mutex
				var pages []string
				rdb.AddHook(check.Seeing(func(ctx context.Context, cmd redis.Cmder) {
					if run := check.RunIn(cmd); run.Obtain != nil {
						mu.Lock()
						defer mu.Unlock()
						pages = append(pages, check.PageOf(ctx))
					}
				}))
				client := world.NewClient(t, rdb)
				check.Must[*redislock.Lock](t)(client.Obtain(check.OnPage(t.Context(), "mine"), []string{"a"}, time.Minute, opt))
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(pages, []string{"mine"}) {
					t.Errorf("the hooks saw the pages %q, want the caller's", pages)
				}
			})
		})
	}
}

// If Options.Wait is over before the next try of a request, the error says so.
func TestWaitOverBetweenTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAsked(slices.Repeat([]string{"-BUSY it is\r\n"}, 1000)...)
		client := world.NewClient(t, s.Client(t, func(o *redis.Options) {
			o.MaxRetries, o.MinRetryBackoff, o.MaxRetryBackoff = 100, time.Second, time.Second
		}))
		_, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, &redislock.Options{Wait: 100 * time.Millisecond})
		check.Is(t, err, redislock.ErrWaitOver)
		if text := err.Error(); !strings.HasSuffix(text, `: redislock: obtain "a": BUSY it is`) {
			t.Errorf("got error %q", text)
		}
	})
}

// A fenced hold that may be passed on gets numbers for the Obtains of its Client that wait behind it.
func TestAsksForNumbersOfOthers(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]int{"alone": 0, "one behind it": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newAsked(world.HeldBySomebody, world.InPlace(5, 1))
				client := world.NewClient(t, s.Client(t))
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				var all sync.WaitGroup
				for range 1 + others {
					all.Go(func() {
						_, _ = client.Obtain(ctx, []string{"a"}, time.Hour, &redislock.Options{Fenced: true, Queue: true, PassOn: time.Minute})
					})
					synctest.Wait()
				}
				all.Wait()
				s.mu.Lock()
				defer s.mu.Unlock()
				if got := strings.Contains(strings.Join(s.lines, "\n"), ", block"); got != (others > 0) {
					t.Errorf("asks for more than one number: %t, want %t: %q", got, others > 0, s.lines)
				}
			})
		})
	}
}

// A panic of a RetryStrategy or of a hook ends an Obtain. The hooks are told, under the caller's context, and the lock is given back.
func TestPanicIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAsked("*5\r\n:0\r\n:1\r\n$5\r\nwrite\r\n:60000\r\n$0\r\n\r\n")
		var told []string
		client := world.NewClient(t, s.Client(t), redislock.WithHooks(redislock.Hooks{
			Refused: func(ctx context.Context, e redislock.Event) {
				told = append(told, check.PageOf(ctx)+" refused: "+e.Err.Error())
			},
			Obtained: func(context.Context, redislock.Event) { panic("a hook") },
			Released: func(ctx context.Context, _ redislock.Event) { told = append(told, check.PageOf(ctx)+" released") },
		}))
		obtain := func(opt *redislock.Options) {
			defer func() { told = append(told, fmt.Sprint(recover())) }()
			_, _ = client.Obtain(check.OnPage(t.Context(), "mine"), []string{"a"}, time.Minute, opt)
		}
		obtain(&redislock.Options{RetryStrategy: func() redislock.BackOff { panic("a strategy") }})
		obtain(nil)
		if want := []string{
			"mine refused: redislock: obtain: a RetryStrategy or a hook has panicked", "a strategy",
			"mine released", "a hook",
		}; !slices.Equal(told, want) {
			t.Errorf("got %q, want %q", told, want)
		}
	})
}

// An Obtain that is a step of a larger one says why it waits.
func TestStepSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := world.NewClient(t, newAsked(world.HeldBySomebody).Client(t))
		var why []error
		ctx := pace.OnWaiting(t.Context(), func(err error) { why = append(why, err) })
		check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{"a"}, time.Minute, &redislock.Options{RetryStrategy: eachSecond}))
		if len(why) != 1 {
			t.Fatalf("it has waited %d times, want once", len(why))
		}
		_ = world.WantConflict(t, why[0], "a", redislock.ModeWrite)
	})
}
