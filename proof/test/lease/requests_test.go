package lease_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A request waits for replicas for a quarter of the lease that it is to give, up to a second. Less is rounded down to a power of two
// of milliseconds, so that calls that wait equally long go out together.
func TestWaitsForReplicas(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		p := &world.FakeServer{Wait: ":2\r\n", Script: func(run check.Run) string {
			if run.Can.Fenced && (run.Obtain != nil || run.Convert != nil) {
				return "*2\r\n:1\r\n:7\r\n"
			}
			return ":1\r\n"
		}}
		rdb := p.Client(t)
		var mu sync.Mutex
		var waits []string
		rdb.AddHook(check.Around{Before: func(cmd redis.Cmder) {
			if cmd.Name() == "wait" {
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, fmt.Sprint(cmd.Args()[1:]...))
			}
		}})
		client := world.NewClient(t, rdb, redislock.WithReplicas(2))
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, 100*ms, world.Fenced()))
		check.NoError(t, lock.RaiseFence(t.Context(), 9))
		want := []string{"2 16", "2 16"}
		for ttl, within := range map[time.Duration]int{
			ms: 1, 4 * ms: 1, 8 * ms: 2, 60 * ms: 8, 64 * ms: 16, 3 * time.Second: 512, 3999 * ms: 512, 4 * time.Second: 1000, 5 * time.Second: 1000,
			time.Hour: 1000,
		} {
			check.NoError(t, lock.Refresh(t.Context(), ttl))
			check.NoError(t, lock.Downgrade(t.Context()))
			want = append(want, fmt.Sprint("2 ", within), fmt.Sprint("2 ", within))
		}
		check.NoError(t, lock.Release(t.Context()))
		renewed := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, 600*ms, world.Watched))
		time.Sleep(300 * ms)
		synctest.Wait()
		check.NoError(t, renewed.Release(t.Context()))
		want = append(want, "2 128", "2 128")
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(want, waits); diff != "" {
			t.Errorf("replicas and milliseconds (-want +got):\n%s", diff)
		}
	})
}

// A Refresh waits for a slot that moves for as long as there is a lease to lose. A lock of which no lease is known waits as long as any
// other request.
func TestRefreshWaitsForASlot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attached    bool
		least, most time.Duration
	}{
		"of a lock that is held": {false, 50 * time.Second, time.Minute},
		"of an attached lock":    {true, 10 * time.Second, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &world.FakeServer{Script: func(run check.Run) string {
					if run.Of("refresh") {
						return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
					}
					return ":1\r\n"
				}}
				client := world.NewClient(t, p.Client(t))
				lock := client.Attach([]string{"k"}, "t")
				if !c.attached {
					lock = check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Minute, nil))
				}
				began := time.Now()
				err := lock.Refresh(t.Context(), time.Minute)
				if took := time.Since(began); err == nil || took < c.least || took > c.most {
					t.Errorf("it has ended after %v, with %v; want %v to %v", took, err, c.least, c.most)
				}
			})
		})
	}
}

// renewals notes when a Client renews a lease, and for how long.
func renewals(rdb *redis.Client, began time.Time) (told func() string) {
	var mu sync.Mutex
	var lines []string
	rdb.AddHook(check.Around{Before: func(cmd redis.Cmder) {
		if run := check.RunIn(cmd); run.NeverShortens() {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, fmt.Sprintf("after %v, for %v", time.Since(began).Round(time.Millisecond), run.TTL))
		}
	}})
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(lines, "\n")
	}
}

// A refreshed is what is done with a lock that is renewed, 5 s after it was obtained, and its renewals.
type refreshed struct {
	do   func(t *testing.T, mini *redistest.Mini, rdb *redis.Client, lock *redislock.Lock)
	want string
}

func leases() map[string]refreshed {
	return map[string]refreshed{
		"no Refresh": {nil, "after 19.799s, for 1m0s\nafter 39.599s, for 1m0s"},
		"a longer one": {func(t *testing.T, _ *redistest.Mini, _ *redis.Client, lock *redislock.Lock) {
			t.Helper()
			check.NoError(t, lock.Refresh(t.Context(), 2*time.Minute))
		}, "after 5s, for 2m0s\nafter 44.599s, for 2m0s"},
		"a shorter one": {func(t *testing.T, _ *redistest.Mini, _ *redis.Client, lock *redislock.Lock) {
			t.Helper()
			check.NoError(t, lock.Refresh(t.Context(), 12*time.Second))
			time.Sleep(16 * time.Second)
			check.NoError(t, lock.Refresh(t.Context(), 2*time.Hour))
		}, "after 8.959s, for 12s\nafter 12.919s, for 12s\nafter 16.878s, for 12s\nafter 20.837s, for 12s\nafter 21s, for 2h0m0s"},
		"a shorter one, refused for the moment": {func(t *testing.T, mini *redistest.Mini, _ *redis.Client, lock *redislock.Lock) {
			t.Helper()
			mini.Miniredis().SetError("NOREPLICAS")
			time.Sleep(time.Second)
			if err := lock.Refresh(t.Context(), 12*time.Second); err == nil {
				t.Error("it was done")
			}
			mini.Miniredis().SetError("")
		}, "after 23.799s, for 1m0s\nafter 43.599s, for 1m0s"},
		"a shorter one, and no answer for some seconds": {func(t *testing.T, _ *redistest.Mini, rdb *redis.Client, lock *redislock.Lock) {
			t.Helper()
			world.OnLease(rdb, func(renewal bool, send func() error) error {
				if !renewal {
					time.Sleep(20 * time.Second)
				}
				return send()
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			check.Is(t, lock.Refresh(ctx, 12*time.Second), redislock.ErrUnknownOutcome)
		}, "after 8.959s, for 1m0s\nafter 12.919s, for 1m0s\nafter 16.878s, for 1m0s\nafter 36.677s, for 1m0s"},
	}
}

// A lease is renewed after a third of what is certain of it. A Refresh has it renewed for another time. While a shorter lease may have
// begun, because a Refresh is under way or has met no answer, it is renewed in time for that one.
func TestRenewedInTime(t *testing.T) {
	t.Parallel()
	for name, c := range leases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb := mini.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }) // which would come after a random time
				known := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Minute, nil))
				check.NoError(t, known.Refresh(t.Context(), time.Minute)) // now the server knows the scripts
				client := world.NewClient(t, rdb)
				lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Minute, world.Watched))
				began := time.Now()
				told := renewals(rdb, began)
				time.Sleep(5 * time.Second)
				if c.do != nil {
					c.do(t, mini, rdb, lock)
				}
				time.Sleep(time.Until(began.Add(50 * time.Second)))
				check.NoError(t, lock.Release(t.Context()))
				if diff := cmp.Diff(c.want, told()); diff != "" {
					t.Errorf("renewals (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Leases that are due at about the same time are renewed together, when the first of them is due.
func TestRenewedTogether(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		client := world.NewClient(t, rdb)
		known := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Minute, nil))
		check.NoError(t, known.Refresh(t.Context(), time.Minute)) // now the server knows the scripts
		began := time.Now()
		told := renewals(rdb, began)
		for _, key := range []string{"a", "b", "c"} {
			check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, time.Minute, world.Watched))
			time.Sleep(1500 * time.Millisecond)
		}
		time.Sleep(time.Until(began.Add(24 * time.Second)))
		const want = "after 19.799s, for 1m0s\nafter 19.799s, for 1m0s\nafter 22.799s, for 1m0s"
		if diff := cmp.Diff(want, told()); diff != "" {
			t.Errorf("renewals (-want +got):\n%s", diff)
		}
	})
}
