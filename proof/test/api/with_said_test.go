package api_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

const loading = "LOADING Redis is loading the dataset in memory"

// loses has the renewals of a lock fail until it is lost. Its keys are there for a moment more.
func loses(ctx context.Context, mini *redistest.Mini) {
	mini.Miniredis().SetError(loading)
	<-ctx.Done()
	mini.Miniredis().SetError("")
}

// With says whether the lock was lost while its function ran, and why: also if its keys could be released all the same, by the
// function or after it. A lock that the function has ended is not lost.
func TestWithSaysWhatWasLost(t *testing.T) {
	const lost = `redislock: lock lost: "k"`
	const late = lost + `: no renewal was confirmed before the deadline: redislock: renew "k": ` + loading
	release := func(ctx context.Context) error { return redislock.FromContext(ctx).Release(ctx) }
	for name, c := range map[string]struct {
		fn   func(ctx context.Context, w *world.World, mini *redistest.Mini) error
		want string // the error; empty: none
	}{
		"nothing":       {func(context.Context, *world.World, *redistest.Mini) error { return nil }, ""},
		"its own error": {func(context.Context, *world.World, *redistest.Mini) error { return errors.New("mine") }, "mine"},
		"released":      {func(ctx context.Context, _ *world.World, _ *redistest.Mini) error { return release(ctx) }, ""},
		"lost": {func(ctx context.Context, _ *world.World, mini *redistest.Mini) error {
			loses(ctx, mini)
			return nil
		}, late},
		"lost, with an error": {func(ctx context.Context, _ *world.World, mini *redistest.Mini) error {
			loses(ctx, mini)
			return errors.New("mine")
		}, late + "\nmine"},
		"lost, and released": {func(ctx context.Context, _ *world.World, mini *redistest.Mini) error {
			loses(ctx, mini)
			return release(ctx)
		}, late},
		"gone": {func(ctx context.Context, w *world.World, _ *redistest.Mini) error {
			return w.RDB.Del(ctx, w.Key("k")).Err()
		}, lost},
		"gone, and renewed": {func(ctx context.Context, w *world.World, _ *redistest.Mini) error {
			err := w.RDB.Del(ctx, w.Key("k")).Err()
			<-ctx.Done()
			return err
		}, lost},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				client := world.NewClient(t, w.RDB, redislock.WithKeyPrefix(w.Prefix))
				err := client.With(t.Context(), []string{"k"}, 30*time.Second, nil, func(ctx context.Context) error { return c.fn(ctx, w, mini) })
				said := ""
				if err != nil {
					said = err.Error()
				}
				if said != c.want {
					t.Errorf("got error %q, want %q", said, c.want)
				}
				w.WantFree(t, w.Key("k"))
			})
		})
	}
}

// What With does not return stands in the log, with the context of its caller. With waits for its Release one second, if its context
// has ended before.
func TestWithLogsItsRelease(t *testing.T) {
	const said = `WARN redislock: release not confirmed keys=[k] error=redislock: release "k": `
	for name, c := range map[string]struct {
		answer error
		wait   time.Duration
		ends   bool // the context
		took   time.Duration
		want   string
	}{
		"refused":    {answer: world.Refusal("NOPERM no"), want: said + "NOPERM no on mine"},
		"unanswered": {wait: time.Minute, ends: true, took: time.Second, want: said + "outcome not known: context canceled on mine"},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb := mini.Client(t)
				var book check.Log
				client := world.NewClient(t, rdb, redislock.WithKeyPrefix(w.Prefix), redislock.WithLogger(slog.New(&book)))
				isRelease := func(cmd redis.Cmder) bool { return check.RunIn(cmd).Of("release") }
				rdb.AddHook(check.Around{
					Instead: func(cmd redis.Cmder) bool { return c.answer != nil && isRelease(cmd) && check.Answer(cmd, c.answer) },
					After: func(cmd redis.Cmder) {
						if isRelease(cmd) {
							time.Sleep(c.wait)
						}
					},
				})
				ctx, cancel := context.WithCancel(check.OnPage(t.Context(), "mine"))
				defer cancel()
				began := time.Now()
				check.NoError(t, client.With(ctx, []string{"k"}, time.Hour, nil, func(context.Context) error {
					if c.ends {
						cancel()
					}
					return nil
				}))
				if took := time.Since(began); took != c.took {
					t.Errorf("it has taken %v, want %v", took, c.took)
				}
				if diff := cmp.Diff([]string{c.want}, book.Lines()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// The ways in of an Owner pass on all that they are given: the keys in their modes, the time, the options, the function and its error.
func TestOwnerPassesAllOn(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		client := world.NewClient(t, w.RDB, redislock.WithKeyPrefix(w.Prefix))
		owner, mine, opt := client.As("token"), errors.New("mine"), &redislock.Options{Metadata: "m"}
		var got []string
		fn := func(ctx context.Context) error {
			for _, state := range check.Must[[]redislock.KeyState](t)(client.Inspect(ctx, []string{"a", "b", "c"})) {
				got = append(got, state.String())
			}
			got = append(got, redislock.FromContext(ctx).Token()+" on "+check.PageOf(ctx))
			return mine
		}
		ctx, a, b := check.OnPage(t.Context(), "mine"), []string{"a"}, []string{"b"}
		check.Is(t, owner.With(ctx, a, time.Hour, opt, fn), mine)
		check.Is(t, owner.WithSet(ctx, redislock.Set{Write: a, Read: b}, time.Minute, opt, fn), mine)
		check.Is(t, fn(check.Must[*redislock.Lock](t)(owner.Obtain(ctx, a, time.Hour, opt)).Context(ctx)), mine)
		check.Is(t, fn(check.Must[*redislock.Lock](t)(owner.ObtainRead(ctx, b, time.Minute, opt)).Context(ctx)), mine)
		want := []string{
			`"a" is write-locked by m (1h00m left)`, `"b" is free`, `"c" is free`, "token on mine",
			`"a" is write-locked by m (1m00s left)`, `"b" is read-locked by m (1m00s left)`, `"c" is free`, "token on mine",
			`"a" is write-locked by m (1h00m left)`, `"b" is free`, `"c" is free`, "token on mine",
			`"a" is write-locked by m (1h00m left)`, `"b" is read-locked by m (1m00s left)`, `"c" is free`, "token on mine",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what the functions found (-want +got):\n%s", diff)
		}
	})
}

// An Obtain that is refused has asked once, and the time of a lock is rounded up to a millisecond.
func TestObtainAsksOnce(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		for ttl, want := range map[time.Duration]time.Duration{
			time.Millisecond:                       time.Millisecond,
			time.Millisecond + 1:                   2 * time.Millisecond,
			time.Second:                            time.Second,
			time.Second + time.Millisecond - 1:     time.Second + time.Millisecond,
			time.Hour + 500*time.Microsecond:       time.Hour + time.Millisecond,
			time.Hour + 999999*time.Nanosecond + 1: time.Hour + time.Millisecond,
		} {
			for mode, obtain := range map[string]func() (*redislock.Lock, error){
				"write": func() (*redislock.Lock, error) { return w.Client.Obtain(t.Context(), w.Keys("a"), ttl, nil) },
				"read":  func() (*redislock.Lock, error) { return w.Client.ObtainRead(t.Context(), w.Keys("a"), ttl, nil) },
				"short": func() (*redislock.Lock, error) {
					return world.NewClient(t, w.RDB).Obtain(t.Context(), w.Keys("a"), ttl, nil)
				},
			} {
				_, err := obtain() // which may take too long for so short a time
				if left := w.RDB.PTTL(t.Context(), w.Key("a")).Val(); left != want {
					t.Errorf("%s: got %v left of a ttl of %v, and error %v", mode, left, ttl, err)
				}
				w.RDB.Del(t.Context(), w.Key("a"))
			}
		}
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
		client := world.NewClient(t, w.RDB)
		sent := check.Count(w.RDB, "eval")
		_, err := client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil)
		check.Is(t, err, redislock.ErrNotObtained)
		if n := sent.Load(); n != 1 {
			t.Errorf("%d requests were sent, want one", n)
		}
	})
}

// A function may end its lock so late that the answer comes while With ends it, too. Then nothing was lost.
func TestWithAndAReleaseUnderWay(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		var sent atomic.Int64
		w.RDB.AddHook(check.Around{Before: func(cmd redis.Cmder) {
			if check.RunIn(cmd).Of("release") {
				time.Sleep(time.Duration(sent.Add(1)) * 10 * time.Millisecond) // the one of the function arrives first
			}
		}})
		released := make(chan error, 1)
		err := world.NewClient(t, w.RDB).With(t.Context(), w.Keys("a"), time.Minute, nil, func(ctx context.Context) error {
			go func() { released <- redislock.FromContext(ctx).Release(ctx) }()
			synctest.Wait()
			return nil
		})
		if err := errors.Join(err, <-released); err != nil || sent.Load() < 2 {
			t.Errorf("got error %v after %d releases, want none after both", err, sent.Load())
		}
	})
}
