package world_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// Left names what nobody may find, and nothing else.
func TestLeft(t *testing.T) {
	t.Parallel()
	w := world.Start(t, world.Single, redistest.Redis)
	p := newProbe(t, w, w.Target().Addrs[0])
	ctx, client := t.Context(), p.clients[0]
	left := func() []string {
		t.Helper()
		all, err := w.Left()
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range all {
			all[i], _, _ = strings.Cut(text, " at ")
		}
		return all
	}
	want := func(keys ...string) {
		t.Helper()
		if got := left(); !slices.Equal(got, keys) {
			t.Fatalf("got %q, want %q", got, keys)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want()

	// What may stay: a number, a guard, a key that was left, a value of a resource.
	fenced, err := client.Obtain(ctx, []string{"fenced"}, time.Hour, &redislock.Options{Fenced: true})
	must(err)
	want("fenced")
	must(fenced.Release(ctx))
	written, err := client.Obtain(ctx, []string{"written"}, time.Hour, nil)
	must(err)
	must(written.Leave(ctx, time.Hour))
	both, err := client.ObtainRead(ctx, []string{"read"}, time.Hour, nil)
	must(err)
	want("read")
	must(both.Leave(ctx, time.Hour))
	stuck, err := client.Obtain(ctx, []string{"broken"}, time.Hour, nil)
	must(err)
	if _, err := client.Break(ctx, []string{"broken"}, "to leave a guard"); err != nil || stuck == nil {
		t.Fatal(err)
	}
	guards, err := p.admin.ZCard(ctx, "redislock:line:{broken}").Result()
	if err != nil || guards == 0 {
		t.Fatalf("a Break leaves no guard: %d, %v", guards, err)
	}
	must(p.admin.HSet(ctx, "resource", "value", 1).Err())
	want("resource") // it has no TTL
	must(p.admin.Expire(ctx, "resource", time.Hour).Err())
	want()

	// What may not.
	held, err := client.Obtain(ctx, []string{"held"}, time.Hour, nil)
	must(err)
	waits, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() {
		_, err := client.Obtain(waits, []string{"held"}, time.Hour, &redislock.Options{Queue: true})
		over <- err
	}()
	eventually(t, "somebody waits", func() error {
		return p.admin.ZScore(ctx, "redislock:line:{held}", first(p, "redislock:line:{held}")).Err()
	})
	want("held", "redislock:line:{held}")
	stop()
	if err := <-over; err == nil {
		t.Fatal("a waiter got a lock that is held")
	}
	must(held.Release(ctx))
	eventually(t, "nobody waits", func() error {
		if got := left(); len(got) > 0 {
			return context.DeadlineExceeded
		}
		return nil
	})
	must(p.admin.Set(ctx, "redislock:fence:{x}", "no TTL", 0).Err())
	want("redislock:fence:{x}")
}

// first is the first member of a sorted set.
func first(p *probe, key string) string {
	members, err := p.admin.ZRange(context.Background(), key, 0, 0).Result()
	if err != nil || len(members) == 0 {
		return ""
	}
	return members[0]
}
