package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A refusal names every key that is in the way if the caller wants to know, whatever is in the way of each.
func TestAllConflicts(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		conflict := inTheWay(t, w)
		for _, test := range []struct {
			name        string
			write, read []string
			opt         redislock.Options
			want        []string // what is in the way; those that only readers mind are names of read keys
		}{
			{"write", w.Keys("free", "w", "r", "list"), nil, redislock.Options{}, []string{"w", "r", "list"}},
			{"write, of a known token", w.Keys("r", "w"), nil, redislock.Options{Token: "mine"}, []string{"r", "w"}},
			{"write, fenced", w.Keys("list", "r", "w"), nil, redislock.Options{Fenced: true}, []string{"list", "r", "w"}},
			{"write, with intent", w.Keys("w", "r"), nil, redislock.Options{
				Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1),
			}, []string{"w", "r"}},
			{"mixed", w.Keys("free", "w"), w.Keys("r", "q", "i", "list", "w2"), redislock.Options{}, []string{"w", "q", "i", "list", "w2"}},
			{"mixed, held at first", w.Keys("w"), w.Keys("r", "w2"), redislock.Options{}, []string{"w", "w2"}},
			{"read", nil, w.Keys("r", "free", "i"), redislock.Options{}, []string{"i"}},
			{
				"in line", w.Keys("free", "w"), w.Keys("r", "q", "list", "w2"),
				redislock.Options{Queue: true, Wait: 2 * time.Second},
				[]string{"w", "q", "list", "w2"},
			},
		} {
			t.Run(test.name, func(t *testing.T) {
				for _, all := range []bool{false, true} {
					test.opt.AllConflicts = all
					_, err := w.Client.ObtainMixed(t.Context(), test.write, test.read, world.Long, &test.opt)
					got, ok := errors.AsType[*redislock.ConflictError](err)
					if !ok {
						t.Fatalf("got error %v", err)
					}
					want := conflict(test.want[0])
					for _, name := range test.want[1:] {
						if all {
							other := conflict(name)
							want.Others = append(want.Others, &other)
						}
					}
					if diff := cmp.Diff(&want, got, cmpopts.IgnoreFields(redislock.ConflictError{}, "TTL")); diff != "" {
						t.Errorf("all: %v: conflicts (-want +got):\n%s", all, diff)
					}
					for _, c := range append([]*redislock.ConflictError{got}, got.Others...) {
						if c.TTL <= 0 != (c.Mode == redislock.ModeForeign) {
							t.Errorf("%s: got TTL %v", c.Key, c.TTL)
						}
					}
				}
			})
		}
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainMixed(t.Context(), w.Keys("free"), w.Keys("r"), world.Long,
			&redislock.Options{AllConflicts: true}))
		check.NoError(t, lock.Release(t.Context()))
	})
}

// inTheWay puts something in the way of each of several keys, and returns the conflict that there is on a key. What waits
// there does so until the test ends.
func inTheWay(t *testing.T, w *world.World) func(name string) redislock.ConflictError {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	obtain := func(ctx context.Context, write, read []string, opt *redislock.Options) {
		check.Must[*redislock.Lock](t)(w.Client.ObtainMixed(ctx, write, read, world.Long, opt))
	}
	obtain(redislock.WithOwner(ctx, "me"), w.Keys("w", "w2"), nil, &redislock.Options{Metadata: "the writer"})
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
			c.Mode, c.Metadata, c.Owner = redislock.ModeWrite, "the writer", "me"
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

// The text of a refusal says how many keys more are in the way.
func TestAllConflictsText(t *testing.T) {
	t.Parallel()
	err := &redislock.ConflictError{Key: "a", Mode: redislock.ModeWrite, TTL: time.Second}
	for _, want := range []string{", 1.0s left", ", 1.0s left, and 1 more key of the set", ", 1.0s left, and 2 more keys of the set"} {
		if got := err.Error(); !strings.HasSuffix(got, want) {
			t.Errorf("got %s, want %s at its end", got, want)
		}
		err.Others = append(err.Others, &redislock.ConflictError{Key: "b"})
	}
}

// All keys of a refusal are named as the caller names them, and a key that was left says so.
func TestAllConflictsNames(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		client := world.NewClient(t, w.RDB, redislock.WithKeyPrefix(w.Prefix))
		check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a", "b"}, world.Long, nil))
		left := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"c"}, world.Long, nil))
		check.NoError(t, left.Leave(t.Context(), world.Long))
		_, err := client.Obtain(t.Context(), []string{"a", "b", "c"}, world.Long, &redislock.Options{AllConflicts: true})
		got, ok := errors.AsType[*redislock.ConflictError](err)
		if !ok || len(got.Others) != 2 {
			t.Fatalf("got error %v", err)
		}
		b, c := got.Others[0], got.Others[1]
		if got.Key != "a" || b.Key != "b" || c.Key != "c" || got.Left || b.Left || !c.Left || c.Mode != redislock.ModeWrite {
			t.Errorf("got conflicts %+v, %+v and %+v", got, b, c)
		}
	})
}
