package wire

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/slot"
)

// Behind a wrapper a key without a hash tag may be on another shard than one whose hash tag it is.
func TestWrappedSharesByTag(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": "127.0.0.1:1"}})
	t.Cleanup(func() { _, _ = rdb.Close(), ring.Close() })
	for _, c := range []struct {
		wraps redis.UniversalClient
		key   string
		plain bool
		want  bool
	}{
		{rdb, "x", true, true},
		{rdb, "x", false, false},
		{ring, "x", true, false},
		{ring, "{x}b", true, true},
		{ring, "{x}b", false, false},
		{ring, "{}b", true, false},
	} {
		conn := New(struct{ redis.Scripter }{c.wraps}, Options{Wraps: c.wraps})
		if got := conn.shares(&Call{Wish: Wish{Plain: c.plain, Run: &said{key: c.key}}}); got != c.want {
			t.Errorf("%T, key %q, plain %t: shares a script: %t", c.wraps, c.key, c.plain, got)
		}
	}
}

// A script that several calls share is sent to where the first of them belongs.
func TestWrappedPacksByTag(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": "127.0.0.1:1"}})
	t.Cleanup(func() { _, _ = rdb.Close(), ring.Close() })
	for wraps, want := range map[redis.UniversalClient][]int{rdb: {6}, ring: {4, 2}} {
		lane := New(struct{ redis.Scripter }{wraps}, Options{Wraps: wraps}).main
		var batch []*Call
		for _, key := range []string{"{x}1", "{y}1", "{x}2", "{y}2", "{x}3", "{x}4"} {
			batch = append(batch, &Call{Wish: Wish{Plain: true, Run: &said{key: key, ttl: int64(len(batch) % 2)}}})
		}
		var got []int
		for _, p := range lane.commands(batch, true) {
			got = append(got, len(p.calls()))
			for _, c := range p.calls() {
				if first := p.calls()[0]; len(want) > 1 && slot.Tag(c.Run.Keys()[0]) != slot.Tag(first.Run.Keys()[0]) {
					t.Errorf("%q and %q share a script", first.Run.Keys()[0], c.Run.Keys()[0])
				}
			}
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%T: got commands of %v calls, want %v", wraps, got, want)
		}
	}
}
