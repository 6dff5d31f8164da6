package break_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A renewal that finds the keys ours says nothing of a notice that is still asked about: the keys may have been broken since. But a
// notice that could not be asked about is why of no later loss.
func TestNoticeBesideRenewal(t *testing.T) {
	for name, c := range map[string]struct {
		asks func(held chan struct{}, cmd redis.Cmder) bool
		why  error
	}{
		"asked later": {func(held chan struct{}, _ redis.Cmder) bool { <-held; return false }, redislock.ErrBroken},
		"not asked":   {func(_ chan struct{}, cmd redis.Cmder) bool { return check.Answer(cmd, io.EOF) }, redislock.ErrLockLost},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb := mini.Client(t)
				holder := world.NewClient(t, rdb, redislock.WithBreakNotices())
				lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), w.Keys("a"), world.Long, world.Watched))
				ctx := lock.Context(t.Context())
				check.NoError(t, lock.Refresh(t.Context(), world.Long)) // the server knows the script
				heard(t, w.RDB, 1)
				held := make(chan struct{})
				var asked atomic.Int64
				rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
					return check.RunIn(cmd).NeverShortens() && asked.Add(1) == 1 && c.asks(held, cmd)
				}})
				check.NoError(t, w.RDB.Publish(t.Context(), listen.NoticeChannel, listen.Notice{Keys: w.Keys("a")}.Text()).Err())
				time.Sleep(world.Long / 2) // until it has renewed its lease
				if n := asked.Load(); n != 2 {
					t.Errorf("it has asked %d times, want because of the notice, and to renew", n)
				}
				check.NoError(t, w.RDB.Del(t.Context(), w.Key("a")).Err())
				close(held)
				<-ctx.Done()
				if cause := context.Cause(ctx); !errors.Is(cause, redislock.ErrLockLost) || errors.Is(cause, redislock.ErrBroken) != (c.why == redislock.ErrBroken) { //nolint:errorlint // exactly these
					t.Errorf("got cause %v, want that it is an %v", cause, c.why)
				}
			})
		})
	}
}
