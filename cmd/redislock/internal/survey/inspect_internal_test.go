package survey

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What is read without a script is what the library reads, of every form that it stores.
func TestHolderOf(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	named := redislock.WithCaller(t.Context(), "request-7")
	for i, ctx := range []context.Context{t.Context(), named, inctx.Candidate(named, true)} {
		for j, metadata := range []string{"", "host=a", "|", "|m|n", "owner=x", "m?", "m|?", "\x00\xff"} {
			key := w.Key(fmt.Sprint(i, j))
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, []string{key}, world.Long, &redislock.Options{Metadata: metadata, Watchdog: true}))
			stored := check.Must[string](t)(w.RDB.Get(t.Context(), key).Result())
			if inctx.IsCandidate(ctx) { // it is pending until its first renewal
				stored = strings.TrimSuffix(stored, inctx.Pending)
			}
			for behind, value := range map[string]string{"as it is": stored, "pending": stored + inctx.Pending, "left": stored[len(lock.Token()):]} {
				if value == "" {
					continue
				}
				copied := w.Key(fmt.Sprint(i, j, behind))
				check.NoError(t, w.RDB.Set(t.Context(), copied, value, time.Hour).Err())
				want := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), []string{copied}))[0].Holders[0]
				want.Since = time.Time{} // which is not read
				if diff := cmp.Diff(want, holderOf(copied, redislock.ModeWrite, value, want.TTL)); diff != "" {
					t.Errorf("%s, of %q (-want +got):\n%s", behind, value, diff)
				}
			}
			check.NoError(t, lock.Release(t.Context()))
		}
	}
}
