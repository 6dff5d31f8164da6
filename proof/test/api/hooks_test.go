package api_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

type happened struct {
	Name  string
	Event redislock.Event
}

func TestHooks(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		var mu sync.Mutex
		var got []happened
		type key struct{}
		ctx := context.WithValue(t.Context(), key{}, "caller")
		note := func(name string, called bool) func(context.Context, redislock.Event) {
			return func(ctx context.Context, e redislock.Event) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, happened{name, e})
				if _, has := ctx.Value(key{}).(string); has != called {
					t.Errorf("%s: caller's context: %v, want %v", name, has, called)
				}
			}
		}
		client := redislock.New(w.RDB, redislock.WithHooks(redislock.Hooks{
			Obtained: note("obtained", true), Refused: note("refused", true),
			Refreshed: note("refreshed", true), Lost: note("lost", false), Released: note("released", true),
		}))
		named := &redislock.Options{Name: "both \xff"}
		lock := check.Must[*redislock.Lock](t)(client.ObtainMixed(ctx, w.Keys("a"), w.Keys("b"), time.Hour, named))
		_, err := client.ObtainRead(ctx, w.Keys("a"), time.Hour,
			&redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Second), 3)})
		check.Is(t, err, redislock.ErrNotObtained)
		time.Sleep(time.Minute)
		first := lock.Deadline()
		check.NoError(t, lock.Refresh(ctx, time.Minute))
		check.NoError(t, lock.Release(ctx))
		gone := check.Must[*redislock.Lock](t)(client.ObtainRead(ctx, w.Keys("a"), time.Hour, nil))
		ends := gone.Deadline()
		mini.Miniredis().Del(w.Key("a"))
		time.Sleep(time.Second)
		check.Is(t, gone.Refresh(ctx, time.Minute), redislock.ErrLockNotHeld)

		const second, write, read = time.Second, redislock.ModeWrite, redislock.ModeRead
		const once, poll = redislock.WayOnce, redislock.WayPoll
		both, one := w.Keys("a", "b"), w.Keys("a")
		want := []happened{
			{"obtained", redislock.Event{ID: 1, Keys: both, Mode: write, Name: "both \xff", Way: once, Attempts: 1, Expires: first}},
			{"refused", redislock.Event{ID: 2, Keys: one, Mode: read, Way: poll, Attempts: 4, Duration: 3 * second, Err: redislock.ErrNotObtained}},
			{"refreshed", redislock.Event{ID: 1, Keys: both, Mode: write, Name: "both \xff", Way: once, Attempts: 1, Held: 63 * second, Expires: lock.Deadline()}},
			{"released", redislock.Event{ID: 1, Keys: both, Mode: write, Name: "both \xff", Way: once, Attempts: 1, Held: 63 * second, Ended: true}},
			{"obtained", redislock.Event{ID: 3, Keys: one, Mode: read, Way: once, Attempts: 1, Expires: ends}},
			{"lost", redislock.Event{ID: 3, Keys: one, Mode: read, Way: once, Held: second, Err: redislock.ErrLockLost, Ended: true}},
			{"refreshed", redislock.Event{ID: 3, Keys: one, Mode: read, Way: once, Attempts: 1, Held: second, Err: redislock.ErrLockNotHeld, Ended: true}},
		}
		if diff := cmp.Diff(want, numbered(got), cmpopts.EquateErrors()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestLogger(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		var text bytes.Buffer
		client := redislock.New(w.RDB, redislock.WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a", "b"), 30*time.Second, world.Watched))
		ctx := lock.Context(t.Context())
		mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
		time.Sleep(15 * time.Second)
		mini.Miniredis().SetError("")
		mini.Miniredis().Del(w.Key("b"))
		<-ctx.Done()
		synctest.Wait()
		for _, want := range []string{"level=INFO msg=\"redislock: renewal failed", "LOADING", "level=WARN msg=\"redislock: lock lost", w.Key("b")} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("got log\n%s\nwant it to say %q", text.String(), want)
			}
		}
		if strings.Contains(text.String(), lock.Token()) {
			t.Error("the log shows a token")
		}
		if cause := context.Cause(ctx); !errors.Is(cause, redislock.ErrLockLost) {
			t.Errorf("got cause %v", cause)
		}
	})
}

// If the hook of an Obtain panics that has its lock, nobody gets the lock: it is given back, whatever HoldAtLeast says.
func TestObtainedPanics(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		client := world.NewClient(t, w.RDB, redislock.WithHooks(redislock.Hooks{
			Obtained: func(context.Context, redislock.Event) { panic("hook") },
		}))
		for _, opt := range []*redislock.Options{
			nil, {Watchdog: true, HoldAtLeast: time.Hour}, {Token: "mine" + w.Prefix}, world.Queue(),
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("nobody learns of the panic")
					}
				}()
				_, _ = client.Obtain(t.Context(), w.Keys("a", "b"), world.Long, opt)
			}()
			w.WantFree(t, w.Keys("a", "b")...)
		}
	})
}
