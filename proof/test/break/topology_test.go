package break_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// toldBy breaks locks again and again until the holder is told of one by a notice: one that comes while nobody listens is
// not heard.
func toldBy(t *testing.T, holder, breaker *redislock.Client, key string) {
	t.Helper()
	check.Eventually(t, time.Minute, "a holder is told", func() bool {
		lock, err := holder.Obtain(t.Context(), []string{key}, world.Long, world.Watched)
		if err != nil {
			return false
		}
		ctx := lock.Context(t.Context())
		if _, err := breaker.Break(t.Context(), []string{key}, "moved"); err != nil {
			return false
		}
		select {
		case <-ctx.Done():
			check.Is(t, context.Cause(ctx), redislock.ErrBroken)
			return true
		case <-time.After(500 * time.Millisecond):
			_ = lock.Release(t.Context())
			return false
		}
	})
}

// On a Cluster a notice is heard at every node, whichever has the keys, also after a fail-over.
func TestBreakCluster(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 1)
	holder := world.NewClient(t, s.Client(t), redislock.WithBreakNotices())
	breaker := s.NewClient(t)
	tags := s.Tags(t, 1, s.Nodes()[:3]...)
	world.WantUnsent(t, s.Client(t), redislock.ErrCrossSlot, func() error {
		_, err := breaker.Break(t.Context(), []string{tags[0] + "a", tags[1] + "a"}, "")
		return err
	})
	for _, tag := range tags {
		keys := []string{tag + "a", tag + "b"}
		lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), keys, world.Long, world.Watched))
		ctx := lock.Context(t.Context())
		heard(t, s.Admin[s.Node(t, tag)], 1)
		list := check.Must[[]redislock.Holder](t)(breaker.Break(t.Context(), keys, ""))
		if len(list) != 2 {
			t.Errorf("got %v broken, want both keys", list)
		}
		check.Is(t, ended(ctx, t), redislock.ErrBroken)
	}
	home := s.MasterOf(tags[0])
	s.FailOver(home)
	toldBy(t, holder, breaker, tags[0]+"a")
}

// On a Ring a holder listens at the shard of its keys.
func TestBreakRing(t *testing.T) {
	t.Parallel()
	ring, shards := world.NewRing(t)
	client := world.NewClient(t, ring, redislock.WithBreakNotices())
	on := make(map[*redis.Client]bool)
	for _, tag := range []string{"{a}", "{b}", "{c}", "{d}"} {
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{tag + "x", tag + "y"}, world.Long, world.Watched))
		ctx := lock.Context(t.Context())
		for _, shard := range shards {
			if shard.Exists(t.Context(), tag+"x").Val() == 1 {
				on[shard] = true
				heard(t, shard, 1)
			}
		}
		check.Must[[]redislock.Holder](t)(client.Break(t.Context(), []string{tag + "y"}, ""))
		check.Is(t, ended(ctx, t), redislock.ErrBroken)
	}
	if len(on) != len(shards) {
		t.Errorf("the keys were on %d shards, want %d", len(on), len(shards))
	}
}

// Behind Sentinel a holder goes on listening at the new primary.
func TestBreakSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t, redistest.Redis, 1, 3)
	holder := world.NewClient(t, s.Client(t), redislock.WithBreakNotices())
	breaker := world.NewClient(t, s.Client(t))
	lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), []string{"kept"}, world.Long, world.Watched))
	heard(t, s.Primary().Client(t), 1)
	s.FailOver()
	primary := s.Primary().Client(t)
	check.Eventually(t, time.Minute, "notices are heard at the new primary", func() bool {
		return primary.PubSubNumSub(t.Context(), listen.NoticeChannel).Val()[listen.NoticeChannel] > 0
	})
	toldBy(t, holder, breaker, "k")
	_ = lock.Release(t.Context())
}
