package api_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A refusal names the first key that is in the way, and says what is, and nothing of the set is taken.
func TestConflicts(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		conflict := inTheWay(t, w)
		for _, test := range []struct {
			name        string
			write, read []string
			opt         redislock.Options
			want        string // the key that is in the way
		}{
			{"write", w.Keys("free", "w", "r", "list"), nil, redislock.Options{}, "w"},
			{"write, fenced", w.Keys("list", "r", "w"), nil, redislock.Options{Fenced: true}, "list"},
			{"write, with intent", w.Keys("w", "r"), nil, redislock.Options{
				Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1),
			}, "w"},
			{"mixed", w.Keys("free", "w"), w.Keys("r", "q", "i", "list", "w2"), redislock.Options{}, "w"},
			{"mixed, held at first", w.Keys("w"), w.Keys("r", "w2"), redislock.Options{}, "w"},
			{"mixed, in line at first", w.Keys("free"), w.Keys("r", "q", "i"), redislock.Options{}, "q"},
			{"mixed, of a foreign key", w.Keys("free"), w.Keys("r", "list", "w2"), redislock.Options{}, "list"},
			{"mixed, of a written key", w.Keys("free"), w.Keys("r", "w2"), redislock.Options{}, "w2"},
			{"read", nil, w.Keys("r", "free", "i"), redislock.Options{}, "i"},
			{"read, in line at first", nil, w.Keys("r", "free", "q", "i"), redislock.Options{}, "q"},
			{
				"in line", w.Keys("free", "w"), w.Keys("r", "q", "list", "w2"),
				redislock.Options{Queue: true, Wait: 2 * time.Second},
				"w",
			},
		} {
			t.Run(test.name, func(t *testing.T) {
				_, err := w.Client.ObtainSet(t.Context(), redislock.Set{Write: test.write, Read: test.read}, world.Long, &test.opt)
				wantRefusal(t, err, conflict(test.want))
			})
		}
		_, err := w.Client.As("mine").Obtain(t.Context(), w.Keys("r", "w"), world.Long, nil)
		wantRefusal(t, err, conflict("r"))
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("free"), Read: w.Keys("r")}, world.Long, nil))
		check.NoError(t, lock.Release(t.Context()))
	})
}

// wantRefusal checks that an error is a conflict.
func wantRefusal(t *testing.T, err error, want redislock.ConflictError) {
	t.Helper()
	got, ok := errors.AsType[*redislock.ConflictError](err)
	if !ok {
		t.Fatalf("got error %v", err)
	}
	if diff := cmp.Diff(&want, got, cmpopts.IgnoreFields(redislock.ConflictError{}, "TTL")); diff != "" {
		t.Errorf("conflict (-want +got):\n%s", diff)
	}
	if got.TTL <= 0 != (got.Mode == redislock.ModeForeign) {
		t.Errorf("%s: got TTL %v", got.Key, got.TTL)
	}
}

// inTheWay puts something in the way of each of several keys, and returns the conflict that there is on a key. What waits
// there does so until the test ends.
func inTheWay(t *testing.T, w *world.World) func(name string) redislock.ConflictError {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	obtain := func(ctx context.Context, write, read []string, opt *redislock.Options) {
		check.Must[*redislock.Lock](t)(w.Client.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, world.Long, opt))
	}
	obtain(redislock.WithCaller(ctx, "me"), w.Keys("w", "w2"), nil, &redislock.Options{Metadata: "the writer"})
	obtain(ctx, nil, w.Keys("r", "q", "i"), &redislock.Options{Metadata: "the reader"})
	check.NoError(t, w.RDB.LPush(ctx, w.Key("list"), "x").Err())
	done := make(chan struct{}, 2)
	wait := func(key string, opt *redislock.Options) {
		_, _ = w.Client.Obtain(ctx, w.Keys(key), world.Long, opt)
		done <- struct{}{}
	}
	go wait("q", &redislock.Options{Queue: true, Metadata: "in line"})
	go wait("i", &redislock.Options{Intent: true, RetryStrategy: redislock.LinearBackoff(10 * time.Second), Metadata: "intends"})
	t.Cleanup(func() { cancel(); <-done; <-done })
	w.InLine(t, w.Key("q"), 1)
	check.Eventually(t, 5*time.Second, "an intent is declared", func() bool {
		return check.Must[[]redislock.KeyState](t)(w.Client.Inspect(ctx, w.Keys("i")))[0].Intent != nil
	})
	return func(name string) redislock.ConflictError {
		c := redislock.ConflictError{Key: w.Key(name)}
		switch name {
		case "w", "w2":
			c.Mode, c.Metadata, c.Caller = redislock.ModeWrite, "the writer", "me"
		case "r":
			c.Mode, c.Metadata = redislock.ModeRead, "the reader"
		case "q":
			c.Mode, c.Metadata = redislock.ModeQueue, "in line"
		case "i":
			c.Mode, c.Metadata = redislock.ModeIntent, "intends"
		case "list":
			c.Mode, c.Type = redislock.ModeForeign, "list"
		}
		return c
	}
}

// The key of a refusal is named as the caller names it, and one that was left says so.
func TestConflictNames(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		client := world.NewClient(t, w.RDB, redislock.WithKeyPrefix(w.Prefix))
		check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, world.Long, nil))
		left := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"b"}, world.Long, nil))
		check.NoError(t, left.Leave(t.Context(), world.Long))
		for _, key := range []string{"a", "b"} {
			_, err := client.Obtain(t.Context(), []string{key}, world.Long, nil)
			got, ok := errors.AsType[*redislock.ConflictError](err)
			if !ok || got.Key != key || got.Left != (key == "b") || got.Mode != redislock.ModeWrite {
				t.Errorf("%s: got error %+v", key, err)
			}
		}
	})
}
