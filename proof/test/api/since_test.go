package api_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// holdersOf returns who holds the key "a".
func holdersOf(t *testing.T, w *world.World) []redislock.Holder {
	t.Helper()
	return check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("a")))[0].Holders
}

// wantSince checks that holders have asked for their locks after a moment, and not in the future.
func wantSince(t *testing.T, after time.Time, holders ...redislock.Holder) {
	t.Helper()
	for _, h := range holders {
		if h.Since.Before(after.Truncate(time.Millisecond)) || h.Since.After(time.Now()) {
			t.Errorf("%q is there since %v, want it after %v", h.Metadata, h.Since, after)
		}
	}
}

func TestSince(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		c, ctx, before := w.Client, t.Context(), time.Now()
		must := check.Must[*redislock.Lock](t)
		t.Run("written", func(t *testing.T) {
			lock := must(c.Obtain(ctx, w.Keys("a"), world.Long, &redislock.Options{Metadata: "m|n"}))
			first := holdersOf(t, w)[0]
			wantSince(t, before, first)
			check.NoError(t, lock.Refresh(ctx, 2*world.Long))
			if got := holdersOf(t, w)[0].Since; !got.Equal(first.Since) {
				t.Errorf("behind a Refresh it is since %v, before it was %v", got, first.Since)
			}
			broken := check.Must[[]redislock.Holder](t)(c.Break(ctx, w.Keys("a"), ""))
			if got := broken[0].Since; !got.Equal(first.Since) {
				t.Errorf("Break says since %v, Inspect %v", got, first.Since)
			}
		})
		t.Run("read", func(t *testing.T) {
			for _, name := range []string{"one", "two"} {
				must(c.ObtainRead(ctx, w.Keys("a"), world.Long, &redislock.Options{Metadata: name}))
			}
			if got := holdersOf(t, w); len(got) != 2 {
				t.Errorf("got %v, want two readers", got)
			}
			wantSince(t, before, holdersOf(t, w)...)
			for _, b := range check.Must[[]redislock.Holder](t)(c.Break(ctx, w.Keys("a"), "")) {
				wantSince(t, before, b)
			}
		})
		t.Run("left", func(t *testing.T) {
			check.NoError(t, must(c.Obtain(ctx, w.Keys("a"), world.Long, nil)).Leave(ctx, world.Long))
			if got := holdersOf(t, w)[0]; !got.Left || !got.Since.IsZero() {
				t.Errorf("got %+v, want it left, and no time", got)
			}
			check.Must[[]redislock.Holder](t)(c.Break(ctx, w.Keys("a"), ""))
		})
		t.Run("set", func(t *testing.T) {
			lock := must(c.Obtain(ctx, w.Keys("a", "b"), world.Long, nil))
			states := check.Must[[]redislock.KeyState](t)(c.Inspect(ctx, w.Keys("a", "b")))
			if a, b := states[0].Holders[0].Since, states[1].Holders[0].Since; !a.Equal(b) {
				t.Errorf("one key is held since %v, the other since %v", a, b)
			}
			check.NoError(t, lock.Release(ctx))
		})
	})
}

// One who has waited has the key since it has asked for it; the intent of a writer says since when it asks.
func TestSinceOfWaiters(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for name, opt := range map[string]redislock.Options{
			"in line": {Queue: true},
			"polling": {RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond), Intent: true},
		} {
			t.Run(name, func(t *testing.T) {
				first := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
				before, locks := time.Now(), make(chan *redislock.Lock, 1)
				go func() {
					lock, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &opt)
					check.NoError(t, err)
					locks <- lock
				}()
				var state redislock.KeyState
				check.Eventually(t, 20*time.Second, "the other waits", func() bool {
					state = check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("a")))[0]
					return len(state.Line) > 0 || state.Intent != nil
				})
				waits := time.Now()
				if state.Intent != nil {
					wantSince(t, before, *state.Intent)
				}
				check.NoError(t, first.Release(t.Context()))
				lock := <-locks
				got := holdersOf(t, w)
				wantSince(t, before, got...)
				if got[0].Since.After(waits) {
					t.Errorf("it is there since %v, and has waited at %v", got[0].Since, waits)
				}
				check.NoError(t, lock.Release(t.Context()))
			})
		}
	})
}

// A token that the library has not made, or has made in an earlier version, says nothing about a time, whatever it looks like.
func TestSinceOfOtherTokens(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		made := func(at time.Time) string {
			raw := binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli()))
			return base64.RawURLEncoding.EncodeToString(raw[2:])
		}
		now, rest := made(time.Now()), strings.Repeat("x", 22)
		for name, token := range map[string]string{
			"of an earlier version": rest,
			"a word":                "job-17",
			"of 29 characters":      now + rest[1:],
			"of 31 characters":      now + rest + "x",
			"with a space":          now + " " + rest[1:],
			"with a percent sign":   now + "%" + rest[1:],
			"of 2024":               made(time.UnixMilli(1735689599999)) + rest,
			"of the day after":      made(time.Now().Add(25*time.Hour)) + rest,
			"of the year 10000":     "______" + "__" + rest,
			"a text":                "Another-text-of-30-characters-"[:30],
		} {
			t.Run(name, func(t *testing.T) {
				for _, obtain := range []func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error){
					w.Client.As(token).Obtain, w.Client.As(token).ObtainRead,
				} {
					lock := check.Must[*redislock.Lock](t)(obtain(t.Context(), w.Keys("a"), world.Long, nil))
					if got := holdersOf(t, w)[0].Since; !got.IsZero() {
						t.Errorf("it is there since %v, want no time", got)
					}
					check.NoError(t, lock.Release(t.Context()))
				}
			})
		}
	})
}

// What is secret of a token does not leave the server: not in a reply to Inspect, and not in one to Break.
func TestSinceShowsNoToken(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b)
		rdb := b.Client(t)
		var mu sync.Mutex
		var replies []string
		rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
			if c, ok := cmd.(interface{ Val() any }); ok {
				mu.Lock()
				defer mu.Unlock()
				replies = append(replies, fmt.Sprintf("%q", c.Val()))
			}
		}})
		looker := world.NewClient(t, struct{ redis.Scripter }{rdb})
		tokens := []string{"my-own-secret", strings.Repeat("x", 30)}
		for _, read := range []func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error){
			w.Client.As(tokens[0]).ObtainRead, w.Client.As(tokens[1]).ObtainRead, w.Client.ObtainRead,
		} {
			lock := check.Must[*redislock.Lock](t)(read(t.Context(), w.Keys("r"), world.Long, nil))
			tokens = append(tokens, lock.Token()[8:])
		}
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("w"), world.Long, nil))
		tokens = append(tokens, lock.Token()[8:])
		check.Must[[]redislock.KeyState](t)(looker.Inspect(t.Context(), w.Keys("r", "w")))
		check.Must[[]redislock.Holder](t)(looker.Break(t.Context(), w.Keys("r"), ""))
		check.Must[[]redislock.Holder](t)(looker.Break(t.Context(), w.Keys("w"), ""))
		mu.Lock()
		defer mu.Unlock()
		if len(replies) < 4 {
			t.Fatalf("%d replies were seen, want 4", len(replies))
		}
		for _, token := range tokens {
			if strings.Contains(strings.Join(replies, "\n"), token) {
				t.Errorf("%q is in a reply:\n%s", token, strings.Join(replies, "\n"))
			}
		}
	})
}
