package cost_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What a Break costs: it looks at each key, and leaves a guard.
func TestBreak(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	for name, c := range map[string]struct {
		obtain func(*testing.T, *meter, []string) *redislock.Lock
		most   limit
	}{
		"nobody":  {nil, limit{1, 14}},
		"writers": {writes(redislock.Options{}), limit{1, 14}},
		"readers": {reads(redislock.Options{}), limit{3, 14}},
		"fenced":  {writes(redislock.Options{Fenced: true}), limit{2, 14}},
	} {
		for _, k := range []int{1, 8, 256} {
			t.Run(fmt.Sprintf("%s k=%d", name, k), func(t *testing.T) {
				check.Must[[]redislock.Holder](t)(m.client.Break(t.Context(), newKeys("set", k), "")) // the server learns the script
				cheap(t, func(b *bill) {
					keys := newKeys("set", k)
					if c.obtain != nil {
						c.obtain(t, m, keys)
					}
					commands := m.counts(t, func() { check.Must[[]redislock.Holder](t)(m.client.Break(t.Context(), keys, "")) })
					c.most.within(b, "break: "+name, k, commands)
				})
			})
		}
	}
}

// A Client that hears of Breaks costs one subscription, and nothing for each lock.
func TestBreakNotices(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	cycle := func(client *redislock.Client) world.Commands {
		return m.counts(t, func() {
			first := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), newKeys("watched", 1), world.Long, world.Watched))
			for range 50 {
				lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), newKeys("watched", 1), world.Long, world.Watched))
				check.NoError(t, lock.Release(t.Context()))
			}
			check.NoError(t, first.Release(t.Context()))
		})
	}
	listens := world.NewClient(t, m.server.Client(t), redislock.WithBreakNotices())
	cycle(m.client)
	if without, with := cycle(m.client), cycle(listens); with.Total() != without.Total() {
		t.Errorf("got %s with notices, and %s without, want the same", with, without)
	}
	hear := func() int64 {
		return m.admin.PubSubNumSub(t.Context(), listen.NoticeChannel).Val()[listen.NoticeChannel]
	}
	check.Eventually(t, 4*time.Second, "notices are heard", func() bool { return hear() > 0 })
	if n := hear(); n != 1 {
		t.Errorf("%d connections hear notices, want 1", n)
	}
}
