package line_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A message that grants a lock tells its fencing number, however small that is. The waiter need not ask.
func TestGrantTellsTheNumber(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		const number, micros = 1, 1_000_000
		var mu sync.Mutex
		var id string
		asked, granted, subscribed := 0, 0, 0
		p := &world.FakeServer{Script: func(run check.Run) string {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case world.StandsInLine(run):
				id, _ = run.Waiter()
				asked++
				return world.InPlace(micros, 1)
			case run.Obtain != nil:
				return world.HeldBySomebody
			}
			return ":1\r\n"
		}}
		p.Subscribe = func(_ int, channel string) string { // a second time if it has heard nothing for a while
			mu.Lock()
			defer mu.Unlock()
			if subscribed++; subscribed < 2 {
				return world.Subscribed(channel)
			}
			granted = asked
			return world.Subscribed(channel) + world.Published(channel, fmt.Sprintf("g|%s|%d|%d", id, micros, number))
		}
		client := world.NewClient(t, p.Client(t))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		opt := &redislock.Options{Queue: true, Fenced: true}
		lock := check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{"k"}, time.Minute, opt))
		if lock.Fence() != number || granted == 0 || asked != granted {
			t.Errorf("got number %d after %d requests, want %d after the %d before the message", lock.Fence(), asked, number, granted)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// If its subscriptions lead elsewhere a waiter subscribes anew when it asks, but later after each time in a row.
func TestSubscribesLaterEachTime(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		const most = 20 * time.Millisecond // from one request to the next
		began, subscribed := time.Now(), []time.Duration(nil)
		p := &world.FakeServer{Script: func(run check.Run) string {
			switch {
			case world.AsksFirst(run):
				return world.HeldBySomebody
			case !world.StandsInLine(run):
				return ":1\r\n"
			}
			return notHeard(time.Millisecond)
		}}
		p.Subscribe = func(_ int, channel string) string {
			subscribed = append(subscribed, time.Since(began))
			return world.Subscribed(channel)
		}
		client := world.NewClient(t, p.Client(t))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := client.Obtain(ctx, []string{"k"}, time.Minute, world.Queue())
		check.Is(t, err, context.DeadlineExceeded)
		synctest.Wait()
		want := pausesUpTo(10)
		for i := range want {
			want[i].most += most
		}
		wantGaps(t, "subscribed", subscribed, want)
	})
}

// A waiter in line whose caller holds other keys ends as its strategy says when nobody answers, and goes on if it is answered.
func TestNoAnswerWhileOthersAreHeld(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		with func(context.Context) context.Context
		want error
		goOn bool
	}{
		"others are held":    {pace.WhileHolding, redislock.ErrUnknownOutcome, false},
		"no others are held": {func(ctx context.Context) context.Context { return ctx }, context.DeadlineExceeded, true},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
				asked := 0
				p := &world.FakeServer{Script: func(run check.Run) string {
					if world.AsksFirst(run) {
						return world.HeldBySomebody
					}
					return world.InPlace(1, 1)
				}}
				rdb := p.Client(t)
				rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
					if check.Among(cmds, "rw") {
						if asked++; asked > 1 {
							return io.EOF
						}
					}
					return send(cmds)
				}})
				client := world.NewClient(t, rdb)
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				_, err := client.Obtain(test.with(ctx), []string{"k"}, time.Minute, &redislock.Options{Queue: true, RetryStrategy: redislock.NoRetry()})
				check.Is(t, err, test.want)
				if goesOn := ctx.Err() != nil; goesOn != test.goOn {
					t.Errorf("it went on until its context has ended: %t, want %t", goesOn, test.goOn)
				}
			})
		})
	}
}

// A waiter asks at once when another lock of its token has obtained keys for which it waits.
func TestAsksWhenItsTokenObtains(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		key, owner := w.Key("k"), w.Client.As(w.Key("token"))
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
		turns := make(chan error, 1)
		go func() {
			_, err := owner.Obtain(t.Context(), []string{key}, world.Long, world.Queue())
			turns <- err
		}()
		time.Sleep(time.Second)
		check.NoError(t, w.RDB.Del(t.Context(), key).Err()) // nobody is told
		began := time.Now()
		check.Must[*redislock.Lock](t)(owner.Obtain(t.Context(), []string{key}, world.Long, nil))
		check.NoError(t, <-turns)
		if took := time.Since(began); took != 0 {
			t.Errorf("it has asked after %v, want at once", took)
		}
	})
}
