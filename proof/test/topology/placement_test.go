package topology_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// clients are Clients for Redis clients of every kind, which answer by themselves that nobody may do anything,
// and count how often they are asked for keys.
func clients(t *testing.T, opts ...redislock.ClientOption) (all map[string]*redislock.Client, asked *atomic.Int64) {
	t.Helper()
	const nowhere = "127.0.0.1:1"
	rdb := redis.NewClient(&redis.Options{Addr: nowhere})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nowhere}})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": nowhere}, HeartbeatFrequency: time.Hour})
	asked = new(atomic.Int64)
	for _, client := range []redis.UniversalClient{rdb, cluster, ring} {
		t.Cleanup(func() { _ = client.Close() })
		client.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			if check.RunIn(cmd).Of("obtain") {
				asked.Add(1)
			}
			cmd.SetErr(world.Refusal("NOPERM"))
			return true
		}})
	}
	all = map[string]*redislock.Client{
		"client": redislock.New(rdb, opts...), "cluster": redislock.New(cluster, opts...), "ring": redislock.New(ring, opts...),
		"wrapped ring": redislock.New(struct{ redis.Scripter }{ring}, append(opts, redislock.WithWrapped(ring))...),
	}
	for _, client := range all {
		t.Cleanup(client.Close)
	}
	return all, asked
}

// Which keys may be one set depends on the Redis client. A set that cannot be one is refused without asking
// any server.
func TestPlacement(t *testing.T) {
	t.Parallel()
	one, two := "{one}", ""
	for i := 0; two == "" || slot.Of(one) != slot.Of(two); i++ {
		two = fmt.Sprintf("{%d}", i)
	}
	all, asked := clients(t)
	const anywhere, bySlot, byTag, byBraces = "client", "cluster", "ring", "wrapped ring"
	for _, c := range []struct {
		keys []string
		fits map[string]bool
	}{
		{[]string{"a"}, map[string]bool{anywhere: true, bySlot: true, byTag: true, byBraces: true}},
		{[]string{"a", "b"}, map[string]bool{anywhere: true}},
		{[]string{"{a}", "{b}"}, map[string]bool{anywhere: true}},
		{[]string{"{a}1", "{a}2"}, map[string]bool{anywhere: true, bySlot: true, byTag: true, byBraces: true}},
		{[]string{"{a}1", "a"}, map[string]bool{anywhere: true, bySlot: true, byTag: true}},
		{[]string{"a", "{a}1"}, map[string]bool{anywhere: true, bySlot: true, byTag: true}},
		{[]string{one, two}, map[string]bool{anywhere: true, bySlot: true}},
		{[]string{one, one + "x", two}, map[string]bool{anywhere: true, bySlot: true}},
	} {
		for kind, client := range all {
			before := asked.Load()
			_, err := client.Obtain(t.Context(), c.keys, time.Minute, nil)
			if err == nil || errors.Is(err, redislock.ErrCrossSlot) == c.fits[kind] {
				t.Errorf("%s: got error %v of %q, want that they may be one set: %t", kind, err, c.keys, c.fits[kind])
			}
			if sent := asked.Load() > before; sent != c.fits[kind] {
				t.Errorf("%s: a server was asked for %q: %t, want %t", kind, c.keys, sent, c.fits[kind])
			}
		}
	}
}

// Behind a prefix a key is where its whole name is: a hash tag is what it was, and a key without one has the prefix in its
// tag. What is refused is named as the caller did.
func TestPlacementBehindAPrefix(t *testing.T) {
	t.Parallel()
	all, _ := clients(t, redislock.WithKeyPrefix("shop:"))
	twin := ""
	for i := 0; twin == "" || slot.Of(twin) != slot.Of("shop:a"); i++ {
		twin = fmt.Sprintf("{%d}", i)
	}
	for _, c := range []struct {
		keys []string
		fits map[string]bool
	}{
		{[]string{"a"}, map[string]bool{"client": true, "cluster": true, "ring": true, "wrapped ring": true}},
		{[]string{"{a}1", "{a}2"}, map[string]bool{"client": true, "cluster": true, "ring": true, "wrapped ring": true}},
		{[]string{"{a}1", "a"}, map[string]bool{"client": true}}, // without a prefix they are in one slot
		{[]string{"a", twin}, map[string]bool{"client": true, "cluster": true}},
	} {
		for kind, client := range all {
			for what, use := range map[string]func() error{
				"obtain": func() error { _, err := client.Obtain(t.Context(), c.keys, time.Minute, nil); return err },
				"break":  func() error { _, err := client.Break(t.Context(), c.keys, ""); return err },
				"attach": func() error { return client.Attach(c.keys, "t").Refresh(t.Context(), time.Minute) },
			} {
				err := use()
				if err == nil || errors.Is(err, redislock.ErrCrossSlot) == c.fits[kind] {
					t.Errorf("%s, %s: got error %v of %q, want that they may be one set: %t", kind, what, err, c.keys, c.fits[kind])
				}
				if text := fmt.Sprint(err); strings.Contains(text, "shop:") || !strings.Contains(text, fmt.Sprintf("%q", c.keys[0])) {
					t.Errorf("%s, %s: got error %q, want one that names %q", kind, what, text, c.keys[0])
				}
			}
		}
	}
}
