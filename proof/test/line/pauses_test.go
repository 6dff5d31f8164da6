package line_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A gap is how much time may lie between two requests.
type gap struct{ least, most time.Duration }

// pauseAfter is the pause after so many failures in a row.
func pauseAfter(failures int) gap {
	pause := min(time.Second, 5*time.Millisecond<<min(failures, 10))
	return gap{pause / 2, pause}
}

// pausesUpTo is the pauses after the first failure and all others up to the last one.
func pausesUpTo(last int) (gaps []gap) {
	for n := range last {
		gaps = append(gaps, pauseAfter(n+1))
	}
	return gaps
}

// repeated is the same gap so many times.
func repeated(n int, s gap) (gaps []gap) {
	for range n {
		gaps = append(gaps, s)
	}
	return gaps
}

func joined(all ...[]gap) (gaps []gap) {
	for _, each := range all {
		gaps = append(gaps, each...)
	}
	return gaps
}

// wantGaps checks the time between each moment and the one before it.
func wantGaps(t *testing.T, what string, times []time.Duration, want []gap) {
	t.Helper()
	if len(times) < len(want)+1 {
		t.Fatalf("got %d times %s, want %d: %v", len(times), what, len(want)+1, times)
	}
	for i, s := range want {
		if got := times[i+1] - times[i]; got < s.least || got > s.most {
			t.Errorf("%s: the time before number %d is %v, want %v to %v", what, i+2, got, s.least, s.most)
		}
	}
}

// notHeard is the answer to a waiter that stands in line, and whose channel nobody hears where the keys are.
func notHeard(left time.Duration) string {
	return strings.TrimSuffix(inPlace(7, "write", left), ":1\r\n") + ":0\r\n"
}

// How long a waiter that stands in line waits from one request to the next, whatever its strategy says: longer after each fault
// in a row, and anew after an answer; else until it may have been forgotten, or until the lease in its way is over.
func TestHowLongAWaiterWaits(t *testing.T) {
	t.Parallel()
	const (
		ms       = time.Millisecond
		moves    = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
		answered = 13 // the request that is answered in the middle of the faults
	)
	byARound := []gap{{600 * ms, proto.AskAgain}}
	byItself := gap{proto.AskAgain * 7 / 8, proto.AskAgain}
	faulty := func(answer string) func(n int) string {
		return func(n int) string {
			if n == 1 || n == answered {
				return answer
			}
			return moves
		}
	}
	always := func(answer string) func(int) string { return func(int) string { return answer } }
	for name, test := range map[string]struct {
		answer func(n int) string
		with   func(context.Context) context.Context
		opts   []redislock.ClientOption
		want   []gap
	}{
		"faults":              {faulty(world.InPlace(1, 1)), nil, nil, joined(byARound, pausesUpTo(11), byARound, pausesUpTo(2))},
		"faults, others held": {faulty(world.InPlace(1, 1)), pace.WhileHolding, nil, joined(byARound, pausesUpTo(11))},
		"faults, not heard":   {faulty(notHeard(time.Minute)), nil, nil, joined([]gap{byItself}, pausesUpTo(11), []gap{byItself}, pausesUpTo(2))},
		"not heard":           {always(notHeard(time.Minute)), nil, nil, repeated(5, byItself)},
		"not heard, a lease":  {always(notHeard(time.Second)), nil, nil, repeated(20, gap{1007 * ms, 1012 * ms})},
		"not confirmed":       {func(n int) string { return map[bool]string{true: world.InPlace(1, 1), false: ":1\r\n"}[n == 1] }, nil, []redislock.ClientOption{redislock.WithReplicas(1)}, joined(byARound, pausesUpTo(8))},
	} {
		asks := func(t *testing.T) {
			t.Helper()
			t.Parallel()
			world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began, asked := time.Now(), []time.Duration(nil)
				p := &world.FakeServer{Script: func(run check.Run) string {
					switch {
					case world.AsksFirst(run):
						return world.HeldBySomebody
					case !world.StandsInLine(run):
						return ":1\r\n"
					}
					if asked = append(asked, time.Since(began)); len(asked) > len(test.want) {
						cancel()
						return ""
					}
					return test.answer(len(asked))
				}}
				p.Subscribe = func(n int, channel string) string {
					if n > 1 {
						return ""
					}
					return world.Subscribed(channel)
				}
				client := world.NewClient(t, p.Client(t), test.opts...)
				if test.with != nil {
					ctx = test.with(ctx)
				}
				_, err := client.Obtain(ctx, []string{"k"}, time.Minute, &redislock.Options{Queue: true, RetryStrategy: redislock.NoRetry()})
				check.Is(t, err, context.Canceled)
				synctest.Wait()
				wantGaps(t, "asked", asked, test.want)
			})
		}
		for range 4 { // chance decides how long each pause is
			t.Run(name, asks)
		}
	}
}

// A waiter that stands in line goes on whatever its strategy says if it cannot subscribe any more. A good subscription that breaks
// counts as no fault, and is made anew at once. After each fault in a row it waits longer until it asks and subscribes again.
func TestPausesOfSubscriptions(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		const faults = 10
		began := time.Now()
		var refuses atomic.Bool
		var mu sync.Mutex // of both below
		var asked []time.Duration
		var subscribed []string
		p := new(world.FakeServer)
		p.Subscribe = func(_ int, channel string) string {
			mu.Lock()
			defer mu.Unlock()
			subscribed = append(subscribed, fmt.Sprint(len(asked)))
			if refuses.Load() {
				return "-NOPERM no longer\r\n"
			}
			return world.Subscribed(channel)
		}
		p.Script = func(run check.Run) string {
			switch {
			case world.AsksFirst(run):
				return world.HeldBySomebody
			case !world.StandsInLine(run):
				return ":1\r\n"
			case !refuses.Load():
				return world.InPlace(1, 1)
			}
			mu.Lock()
			defer mu.Unlock()
			if asked = append(asked, time.Since(began)); len(asked) == faults {
				refuses.Store(false)
			}
			return notHeard(time.Minute)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		client := world.NewClient(t, p.Client(t))
		go func() {
			_, err := client.Obtain(ctx, []string{"k"}, time.Minute, &redislock.Options{Queue: true, RetryStrategy: redislock.NoRetry()})
			ended <- err
		}()
		for range 2 {
			time.Sleep(time.Second)
			synctest.Wait()
			asked, subscribed = []time.Duration{time.Since(began)}, nil
			refuses.Store(true)
			p.Cut()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			wantGaps(t, "asked", asked, pausesUpTo(faults-1))
			if got := strings.Join(subscribed, " "); got != "1 1 2 3 4 5 6 7 8 9 10" { // go-redis by itself, and the waiter at once
				t.Errorf("it has subscribed after these requests: %s", got)
			}
		}
		cancel()
		check.Is(t, <-ended, context.Canceled)
	})
}
