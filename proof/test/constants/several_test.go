package constants_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
	"github.com/seed-14de3678/redislock/reentrant"
)

// A server is one of several. While it is slow its answers to scripts take so long.
type server struct {
	*gate
	client *redislock.Client
	slow   atomic.Int64
}

// inServers runs fn in a bubble with so many servers. The gate of each is for a script.
func inServers(t *testing.T, n int, script string, fn func(t *testing.T, servers []*server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers := make([]*server, n)
		for i := range servers {
			s := &server{gate: &gate{script: script}}
			rdb := redistest.PipeMini(t).Client(t, func(o *redis.Options) {
				o.MaxRetries, o.ReadTimeout, o.Addr = -1, time.Hour, fmt.Sprintf("127.0.0.%d:1", 1+i)
			})
			rdb.AddHook(check.Around{Instead: s.pass})
			rdb.AddHook(check.Around{Before: func(_ redis.Cmder) {
				time.Sleep(time.Duration(s.slow.Load()))
			}})
			s.client, servers[i] = world.NewClient(t, rdb), s
			check.NoError(t, world.Cycle(t.Context(), s.client, t.Name()+"warm")) // it knows the scripts
		}
		fn(t, servers)
		time.Sleep(time.Hour)
	})
}

// A node has a quarter of the lease for its answer, and a second at most. When the context of a Release ends it returns 100 ms
// later.
func TestNodesAreWaitedFor(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]time.Duration{2 * time.Second: 500 * ms, time.Minute: time.Second} {
		t.Run(ttl.String(), func(t *testing.T) {
			inServers(t, 3, "release", func(t *testing.T, servers []*server) {
				client := check.Must[*quorum.Client](t)(quorum.New([]*redislock.Client{servers[0].client, servers[1].client, servers[2].client}))
				defer client.Close()
				for i := range 2 {
					servers[i].slow.Store(int64(10 * time.Minute))
				}
				got := took(func() {
					_, err := client.Obtain(t.Context(), []string{t.Name()}, ttl, nil)
					check.Is(t, err, redislock.ErrUnknownOutcome)
				})
				within(t, "waited", got, want, want+want/50)
			})
		})
	}
	t.Run("release", func(t *testing.T) {
		inServers(t, 3, "release", func(t *testing.T, servers []*server) {
			client := check.Must[*quorum.Client](t)(quorum.New([]*redislock.Client{servers[0].client, servers[1].client, servers[2].client}))
			defer client.Close()
			lock := check.Must[*quorum.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, time.Minute, nil))
			for i := range 2 {
				servers[i].slow.Store(int64(10 * time.Minute))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*ms)
			defer cancel()
			if got := took(func() { _ = lock.Release(ctx) }); got != 400*ms {
				t.Errorf("waited for %v, want 400 ms", got)
			}
		})
	})
}

// The release of a part waits for the one behind it for 50 ms. An Obtain that has failed waits for its parts for a second, and
// 100 ms for what is under way then.
func TestPartsAreReleasedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	parts := func(t *testing.T, servers []*server) []multi.Part {
		t.Helper()
		return []multi.Part{
			{Place: "a", Client: servers[0].client, Set: redislock.Set{Write: []string{t.Name() + "a"}}},
			{Place: "b", Client: servers[1].client, Set: redislock.Set{Write: []string{t.Name() + "b"}}},
		}
	}
	t.Run("release", func(t *testing.T) {
		inServers(t, 2, "release", func(t *testing.T, servers []*server) {
			lock := check.Must[*multi.Lock](t)(multi.Obtain(t.Context(), parts(t, servers), time.Hour, nil))
			servers[1].slow.Store(int64(time.Minute))
			servers[0].begin(false)
			check.NoError(t, lock.Release(t.Context()))
			servers[0].wantAt(t, 50*ms)
		})
	})
	t.Run("undo", func(t *testing.T) {
		inServers(t, 2, "release", func(t *testing.T, servers []*server) {
			all := parts(t, servers)
			other := check.Must[*redislock.Lock](t)(servers[1].client.Obtain(t.Context(), all[1].Write, time.Hour, nil))
			go func() {
				time.Sleep(time.Second)
				servers[0].slow.Store(int64(time.Minute))
			}()
			servers[1].slow.Store(int64(2 * time.Second))
			got := took(func() {
				_, err := multi.Obtain(t.Context(), all, time.Hour, nil)
				check.Is(t, err, redislock.ErrNotObtained)
			})
			if got != 3100*ms {
				t.Errorf("waited for %v, want 3.1 s", got)
			}
			servers[1].slow.Store(0)
			check.NoError(t, other.Release(t.Context()))
		})
	})
}

// The lease of an owner is renewed when two thirds of it are left, and again a ninth of it after that has failed. Each try may
// take a sixth, and 100 ms.
func TestOwnersRenewOnTime(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	first := lasts(ttl) - ttl*2/3
	for name, test := range map[string]struct {
		slow time.Duration
		next time.Duration
	}{"refused": {0, ttl / 9}, "not answered": {time.Minute, ttl/9 + ttl/6 + 100*ms}} {
		t.Run(name, func(t *testing.T) {
			inServers(t, 1, "refresh", func(t *testing.T, servers []*server) {
				s := servers[0]
				ctx, keys := reentrant.NewOwner(t.Context()), []string{t.Name()}
				outer := check.Must[*reentrant.Hold](t)(reentrant.Obtain(ctx, s.client, keys, ttl, nil))
				inner := check.Must[*reentrant.Hold](t)(reentrant.Obtain(ctx, s.client, keys, ttl, world.Watched))
				s.begin(test.slow == 0)
				s.slow.Store(int64(test.slow))
				time.Sleep(first + test.next + ms)
				at := s.times()
				if len(at) < 2 || at[0] != first || at[1] != first+test.next {
					t.Errorf("renewed after %v, want %v and %v more", at, first, test.next)
				}
				s.slow.Store(0)
				s.begin(false)
				_, _ = inner.Release(t.Context()), outer.Release(t.Context())
			})
		})
	}
}
