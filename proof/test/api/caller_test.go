package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An observer sees that whoever holds one set waits for another.
func TestCallerHoldsAndWaits(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		id := owners.NewCaller()
		ctx := redislock.WithCaller(t.Context(), id)
		turns := make(chan world.Turn, 1)
		mine := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a"), world.Long, &redislock.Options{Metadata: "me"}))
		other := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("b"), world.Long, nil))
		w.Wait(ctx, turns, "me", w.Keys("b", "c"), nil)
		w.InLine(t, w.Key("b"), 1)
		states := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("a", "b")))
		holder, waiter := states[0].Holders[0], states[1].Line[0]
		if holder.Caller != id || waiter.Caller != id || states[1].Holders[0].Caller != "" {
			t.Errorf("got ids %q and %q in line, and %q, want %q and none",
				holder.Caller, waiter.Caller, states[1].Holders[0].Caller, id)
		}
		if want := "me"; holder.Metadata != want || mine.Metadata() != want || waiter.Metadata != want {
			t.Errorf("got metadata %q, %q and %q, want %q", holder.Metadata, mine.Metadata(), waiter.Metadata, want)
		}
		if want := "me caller=" + id; !strings.Contains(holder.String(), want) || !strings.Contains(waiter.String(), want) {
			t.Errorf("got %q and %q, want %q in both", holder, waiter, want)
		}
		_, err := w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil)
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || conflict.Caller != id {
			t.Errorf("got %v, want a conflict with %q", err, id)
		}
		check.NoError(t, other.Release(t.Context()))
		world.WantTurn(t, turns, "me")
	})
}

// The id of a caller is stored apart from metadata of every form, and no metadata is taken for one, whoever reads it.
func TestCallerInMetadata(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for i, test := range []struct{ id, metadata, stored string }{
			{id: "r-1", stored: "||r-1|"},
			{id: "r-1", metadata: "host=a", stored: "||r-1|host=a"},
			{id: "r-1", metadata: "host=a caller=other", stored: "||r-1|host=a caller=other"},
			{id: "r-1", metadata: "|other|host=a", stored: "||r-1||other|host=a"},
			{id: "r-1", metadata: "\x00\r\n\xff", stored: "||r-1|\x00\r\n\xff"},
			{id: "r-1?", metadata: "|?", stored: "||r-1?||?"},
			{id: strings.Repeat("~", 64), metadata: "a|b", stored: "||" + strings.Repeat("~", 64) + "|a|b"},
			{metadata: "prog=shop caller=job", stored: "|prog=shop caller=job"},
			{metadata: "caller=job", stored: "|caller=job"},
			{metadata: "a||job|b", stored: "|a||job|b"},
			{metadata: "|job|prog=shop", stored: "||||job|prog=shop"},
			{metadata: "|", stored: "||||"},
			{metadata: "|job=|prog=shop|?", stored: "||||job=|prog=shop|?"},
			{},
		} {
			ctx := t.Context()
			if test.id != "" {
				ctx = redislock.WithCaller(ctx, test.id)
			}
			if got := inctx.Caller(ctx); got != test.id {
				t.Errorf("got id %q of the context, want %q", got, test.id)
			}
			key := w.Keys("k" + string(rune('a'+i)))
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, key, world.Long, &redislock.Options{Metadata: test.metadata}))
			if got, want := w.RDB.Get(t.Context(), key[0]).Val(), lock.Token()+test.stored; got != want {
				t.Errorf("%q is stored, want %q", got, want)
			}
			_, err := w.Client.Obtain(t.Context(), key, world.Long, nil)
			conflict := world.WantConflict(t, err, key[0], redislock.ModeWrite)
			state := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), key))[0]
			broken := check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), key, ""))
			for by, got := range map[string][2]string{
				"Inspect": {state.Holders[0].Caller, state.Holders[0].Metadata}, "Break": {broken[0].Caller, broken[0].Metadata},
				"a refusal": {conflict.Caller, conflict.Metadata}, "the lock": {test.id, lock.Metadata()},
			} {
				if want := [2]string{test.id, test.metadata}; got != want {
					t.Errorf("got id and metadata %q from %s, want %q", got, by, want)
				}
			}
		}
	})
}

// An id that could not be read again fails each Obtain, and nothing is sent.
func TestCallerInvalid(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for _, id := range []string{"", "a b", "a|b", "a=b", `a"b`, "ä", "a\n", "\x7f", strings.Repeat("x", 65)} {
			ctx := redislock.WithCaller(redislock.WithCaller(t.Context(), "good"), id)
			if got := inctx.Caller(ctx); got != id {
				t.Errorf("got id %q, want %q", got, id)
			}
			world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "caller"}, func() error {
				_, err := w.Client.ObtainRead(ctx, w.Keys("a"), world.Long, nil)
				return err
			})
		}
	})
}

// A key that was left has the id of whoever has left it, and a writer that waits has that of its context in its intent.
func TestCallerLeftAndIntent(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx, cancel := context.WithCancel(redislock.WithCaller(t.Context(), "r-1"))
		metadata := &redislock.Options{Metadata: "|m caller=x"}
		check.NoError(t, check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("left"), world.Long, metadata)).Leave(ctx, world.Long))
		check.Must[*redislock.Lock](t)(w.Client.ObtainRead(ctx, w.Keys("read"), world.Long, metadata))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = w.Client.Obtain(ctx, w.Keys("read"), world.Long, &redislock.Options{
				Intent: true, RetryStrategy: redislock.LinearBackoff(10 * time.Second), Metadata: metadata.Metadata,
			})
		}()
		defer func() { cancel(); <-done }()
		var states []redislock.KeyState
		check.Eventually(t, 5*time.Second, "an intent is declared", func() bool {
			states = check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("left", "read")))
			return states[1].Intent != nil
		})
		if got := states[0].Holders[0]; !got.Left {
			t.Errorf("got %v, want that it was left", got)
		}
		for _, got := range []redislock.Holder{states[0].Holders[0], states[1].Holders[0], *states[1].Intent} {
			if got.Caller != "r-1" || got.Metadata != metadata.Metadata {
				t.Errorf("got id %q and metadata %q, want r-1 and %q", got.Caller, got.Metadata, metadata.Metadata)
			}
			if want := metadata.Metadata + " caller=r-1 ("; !strings.HasPrefix(got.String(), want) {
				t.Errorf("got %q, want %q in front", got, want)
			}
		}
	})
}

// The id comes on top of the metadata that is allowed.
func TestCallerBesideMetadata(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx, most := redislock.WithCaller(t.Context(), "request-9"), strings.Repeat("x", 4096)
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a"), world.Long, &redislock.Options{Metadata: most}))
		if got := lock.Metadata(); got != most {
			t.Errorf("got metadata of %d bytes", len(got))
		}
		_, err := w.Client.Obtain(ctx, w.Keys("b"), world.Long, &redislock.Options{Metadata: most + "x"})
		check.Is(t, err, &redislock.InvalidError{Argument: "metadata"})
	})
}

// No two goroutines get the same id, and each is one that WithCaller takes.
func TestNewCaller(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 1000 {
		id := owners.NewCaller()
		if len(id) != 12 || strings.ContainsAny(id, " |=\"") || seen[id] {
			t.Fatalf("got id %q", id)
		}
		seen[id] = true
	}
}
