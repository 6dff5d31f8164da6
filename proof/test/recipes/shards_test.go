package recipes_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/locktest"
)

// startShards returns n servers and the Clients for them.
func startShards(t *testing.T, n int) (servers []*locktest.Server, clients []*redislock.Client) {
	t.Helper()
	for range n {
		server := locktest.New(t)
		servers, clients = append(servers, server), append(clients, server.Client())
	}
	return servers, clients
}

// Transfers that name the same accounts in any order all get their turn, and no two work on one account.
func TestAccountsInAnyOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, shards := startShards(t, 3)
		const workers, rounds, accounts = 6, 20, 6
		var inside [accounts]atomic.Int64
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range rounds {
					chosen := rand.Perm(accounts)[:3]
					check.NoError(t, withAccounts(t.Context(), shards, chosen, func(ctx context.Context) error {
						for _, account := range chosen {
							if inside[account].Add(1) > 1 {
								t.Errorf("two work on account %d", account)
							}
						}
						time.Sleep(rand.N(20 * time.Millisecond))
						for _, account := range chosen {
							inside[account].Add(-1)
						}
						return ctx.Err()
					}))
				}
			})
		}
		wg.Wait()
	})
}

// The lock needs all of its servers: without one of them nothing is done, and nothing stays locked at the others.
func TestAccountsNeedEachServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers, shards := startShards(t, 3)
		servers[2].Away()
		err := withAccounts(t.Context(), shards, []int{2, 0, 1}, func(context.Context) error {
			t.Error("the work was begun")
			return nil
		})
		if err == nil || errors.Is(err, redislock.ErrLockLost) {
			t.Errorf("got error %v", err)
		}
		for _, server := range servers[:2] {
			server.AssertFree()
		}
		check.NoError(t, withAccounts(t.Context(), shards, []int{0, 1}, func(context.Context) error { return nil }))
	})
}

// The work ends if the lock is lost at one of its servers.
func TestAccountsLostAtOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers, shards := startShards(t, 2)
		check.Is(t, withAccounts(t.Context(), shards, []int{3, 8}, func(ctx context.Context) error {
			servers[1].Expire("lock:account:3")
			<-ctx.Done()
			return context.Cause(ctx)
		}), redislock.ErrLockLost)
	})
}
