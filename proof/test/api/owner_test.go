package api_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An observer sees that whoever holds one set waits for another.
func TestOwnerHoldsAndWaits(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		id := redislock.NewOwnerID()
		ctx := redislock.WithOwner(t.Context(), id)
		turns := make(chan world.Turn, 1)
		mine := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a"), world.Long, &redislock.Options{Metadata: "me"}))
		other := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("b"), world.Long, nil))
		w.Wait(ctx, turns, "me", w.Keys("b", "c"), nil)
		w.InLine(t, w.Key("b"), 1)
		states := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("a", "b")))
		holder, waiter := states[0].Holders[0], states[1].Line[0]
		if holder.Owner != id || waiter.Owner != id || states[1].Holders[0].Owner != "" {
			t.Errorf("got owners %q and %q in line, and %q, want %q and none",
				holder.Owner, waiter.Owner, states[1].Holders[0].Owner, id)
		}
		if want := "me"; holder.Metadata != want || mine.Metadata() != want || waiter.Metadata != want {
			t.Errorf("got metadata %q, %q and %q, want %q", holder.Metadata, mine.Metadata(), waiter.Metadata, want)
		}
		if want := "me owner=" + id; !strings.Contains(holder.String(), want) || !strings.Contains(waiter.String(), want) {
			t.Errorf("got %q and %q, want %q in both", holder, waiter, want)
		}
		_, err := w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil)
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || conflict.Owner != id {
			t.Errorf("got %v, want a conflict with %q", err, id)
		}
		check.NoError(t, other.Release(t.Context()))
		world.WantTurn(t, turns, "me")
	})
}

// The owner id is found in metadata of every form, and nothing else is taken for one.
func TestOwnerInMetadata(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for i, test := range []struct{ id, metadata, stored, want, owner string }{
			{id: "r-1", stored: "owner=r-1", owner: "r-1"},
			{id: "r-1", metadata: "host=a", stored: "host=a owner=r-1", want: "host=a", owner: "r-1"},
			{id: "r-1", metadata: `{"a": 1}`, stored: `{"a": 1} owner=r-1`, want: `{"a": 1}`, owner: "r-1"},
			{id: "r-1", metadata: "owner=other", stored: "owner=other owner=r-1", want: "owner=other", owner: "r-1"},
			{id: "r-1", metadata: " ", stored: "  owner=r-1", want: " ", owner: "r-1"},
			{id: strings.Repeat("~", 64), metadata: "a|b", stored: "a|b owner=" + strings.Repeat("~", 64), want: "a|b", owner: strings.Repeat("~", 64)},
			{metadata: "prog=shop owner=job", stored: "prog=shop owner=job", want: "prog=shop", owner: "job"},
			{metadata: "owner=job prog=shop", stored: "owner=job prog=shop", want: "owner=job prog=shop"},
			{metadata: "owner=job owner=", stored: "owner=job owner=", want: "owner=job owner="},
			{metadata: `owner="a b"`, stored: `owner="a b"`, want: `owner="a b"`},
			{metadata: "owner=a\x00", stored: "owner=a\x00", want: "owner=a\x00"},
			{metadata: "xowner=a", stored: "xowner=a", want: "xowner=a"},
			{metadata: "owner", stored: "owner", want: "owner"},
		} {
			ctx := t.Context()
			if test.id != "" {
				ctx = redislock.WithOwner(ctx, test.id)
			}
			if got := redislock.OwnerOf(ctx); got != test.id {
				t.Errorf("got owner %q of the context, want %q", got, test.id)
			}
			key := w.Keys("k" + string(rune('a'+i)))
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, key, world.Long, &redislock.Options{Metadata: test.metadata}))
			if _, stored, _ := strings.Cut(w.RDB.Get(t.Context(), key[0]).Val(), "|"); stored != test.stored {
				t.Errorf("%q is stored, want %q", stored, test.stored)
			}
			state := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), key))[0]
			if got := state.Holders[0]; got.Owner != test.owner || got.Metadata != test.want || lock.Metadata() != test.want {
				t.Errorf("got owner %q and metadata %q and %q, want %q and %q", got.Owner, got.Metadata, lock.Metadata(), test.owner, test.want)
			}
		}
	})
}

// An owner id that could not be read again fails each Obtain, and nothing is sent.
func TestOwnerInvalid(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for _, id := range []string{"", "a b", "a|b", "a=b", `a"b`, "ä", "a\n", "\x7f", strings.Repeat("x", 65)} {
			ctx := redislock.WithOwner(redislock.WithOwner(t.Context(), "good"), id)
			if got := redislock.OwnerOf(ctx); got != id {
				t.Errorf("got owner %q, want %q", got, id)
			}
			world.WantUnsent(t, w.RDB, redislock.ErrInvalidMetadata, func() error {
				_, err := w.Client.ObtainRead(ctx, w.Keys("a"), world.Long, nil)
				return err
			})
		}
	})
}

// The id comes on top of what WithMaxMetadata allows.
func TestOwnerBesideMetadata(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		client := world.NewClient(t, w.RDB, redislock.WithMaxMetadata(2))
		ctx := redislock.WithOwner(t.Context(), "request-9")
		lock := check.Must[*redislock.Lock](t)(client.Obtain(ctx, w.Keys("a"), world.Long, &redislock.Options{Metadata: "me"}))
		if got := lock.Metadata(); got != "me" {
			t.Errorf("got metadata %q", got)
		}
		_, err := client.Obtain(ctx, w.Keys("b"), world.Long, &redislock.Options{Metadata: "you"})
		check.Is(t, err, redislock.ErrInvalidMetadata)
	})
}

// No two goroutines get the same id, and each is one that WithOwner takes.
func TestNewOwnerID(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 1000 {
		id := redislock.NewOwnerID()
		if len(id) != 12 || strings.ContainsAny(id, " |=\"") || seen[id] {
			t.Fatalf("got id %q", id)
		}
		seen[id] = true
	}
}
