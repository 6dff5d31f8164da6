package api_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// ringRights are the commands that docs/rights.md names for a Ring.
func ringRights(t *testing.T) (rights []string) {
	t.Helper()
	page := check.Must[[]byte](t)(os.ReadFile("../../../docs/rights.md"))
	row := regexp.MustCompile(`(?m)^\| a Ring \|.*$`).FindString(string(page))
	for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(row, -1) {
		rights = append(rights, strings.Trim(quoted, "`"))
	}
	if len(rights) == 0 {
		t.Fatalf("docs/rights.md names none: %q", row)
	}
	return rights
}

// On a Ring a user needs the commands that the page names for it, beside those of the list, and no others.
func TestACLOfARing(t *testing.T) {
	t.Parallel()
	rights := ringRights(t)
	for _, forbidden := range append(rights, "") {
		t.Run("without "+forbidden, func(t *testing.T) {
			t.Parallel()
			g := world.NewGuarded(t, "app:")
			for _, command := range rights {
				if command != forbidden {
					g.Set(t, "+"+command)
				}
			}
			ring := redis.NewRing(&redis.RingOptions{
				Addrs: map[string]string{"one": g.RDB.Options().Addr}, Username: "app", Password: "secret", HeartbeatFrequency: 20 * time.Millisecond,
			})
			t.Cleanup(func() { _ = ring.Close() })
			if forbidden != "ping" { // without it go-redis takes the server for one that is down
				handsOver(t, world.NewClient(t, ring))
			}
			if forbidden != "" {
				check.Eventually(t, 30*time.Second, forbidden+" is refused", func() bool { return len(refused(t, g, forbidden)) > 0 })
				return
			}
			for _, command := range rights {
				check.Eventually(t, 30*time.Second, command+" is sent", func() bool {
					return strings.Contains(check.Must[string](t)(g.Admin.Info(t.Context(), "commandstats").Result()), "cmdstat_"+command+":")
				})
			}
			if found := refused(t, g, ""); len(found) > 0 {
				t.Errorf("refused: %s", found)
			}
		})
	}
}

// handsOver has a Release hand a key over to somebody in line, while another waiter listens on the same connection: when the
// first has long been served, the Client listens for it no more.
func handsOver(t *testing.T, client *redislock.Client) {
	t.Helper()
	obtain := func(ctx context.Context, key string) (*redislock.Lock, error) {
		return client.Obtain(world.Apart(ctx), []string{key}, world.Long, world.Queue())
	}
	var locks []*redislock.Lock
	turns := make(chan *redislock.Lock, 2)
	for _, key := range []string{"app:{a}", "app:{b}"} {
		locks = append(locks, check.Must[*redislock.Lock](t)(obtain(t.Context(), key)))
		go func() {
			lock, _ := obtain(t.Context(), key)
			turns <- lock
		}()
		(&world.World{Client: client}).InLine(t, key, 1)
	}
	check.NoError(t, locks[0].Release(t.Context()))
	check.NoError(t, (<-turns).Release(t.Context()))
	t.Cleanup(func() {
		check.NoError(t, locks[1].Release(context.Background()))
		<-turns
	})
}
