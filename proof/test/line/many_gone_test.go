package line_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// stand puts so many entries of sets of three keys into the lines of those, of waiters that have no process any more: dead,
// or nobody has noticed. They stand behind a place.
func stand(t *testing.T, w *world.World, mini *redistest.Mini, n int, place float64, till time.Time) {
	t.Helper()
	keys, names := w.Keys("a", "b", "c"), ""
	for _, key := range keys {
		names += fmt.Sprintf("w%d:%s", len(key), key)
	}
	rdb := mini.Client(t)
	for k, key := range keys {
		first, its := "h", names
		if k > 0 {
			first, its = "-", keys[0]
		}
		var entries []redis.Z
		for i := range n {
			at := place + float64(i)
			entry := fmt.Sprintf("%022.0f|%d|wp-%s|60000|3|4|%d|gone%stoken", at, till.UnixMilli(), first, len(its), its)
			entries = append(entries, redis.Z{Score: at, Member: entry})
		}
		line := "redislock:line:{" + key + "}"
		check.NoError(t, rdb.ZAdd(t.Context(), line, entries...).Err())
		check.NoError(t, rdb.Expire(t.Context(), line, time.Hour).Err())
	}
}

// However many waiters in front of it, and behind it, have no process any more, who can go next goes within milliseconds
// after the end of what it waited for: a script drops some of them, and the next one goes on.
func TestQueueManyAreGone(t *testing.T) {
	const (
		lease = 1200 * time.Millisecond
		most  = 50 * time.Millisecond
		many  = 350 // in front, and as many behind; of three keys each
	)
	type end func(ctx context.Context, w *world.World, lock *redislock.Lock) error
	releases := func(ctx context.Context, _ *world.World, lock *redislock.Lock) error { return lock.Release(ctx) }
	breaks := func(ctx context.Context, w *world.World, lock *redislock.Lock) error {
		_, err := w.Client.Break(ctx, lock.Keys(), "for a test")
		return err
	}
	for name, scene := range map[string]struct {
		life  time.Duration // for which they count as alive
		end   end
		after time.Duration // when the keys can be had
		reads bool          // the one who waits
	}{
		"dead, the holder releases":        {-time.Minute, releases, 0, false},
		"nobody has noticed, it releases":  {time.Hour, releases, 0, false},
		"dead, the lock is broken":         {-time.Minute, breaks, 0, false},
		"nobody has noticed, it is broken": {time.Hour, breaks, 0, false},
		"dead, the holder downgrades": {-time.Minute, func(ctx context.Context, _ *world.World, lock *redislock.Lock) error {
			return lock.Downgrade(ctx)
		}, 0, true},
		"dead, the holder refreshes to less": {-time.Minute, func(ctx context.Context, _ *world.World, lock *redislock.Lock) error {
			return lock.Refresh(ctx, lease)
		}, lease, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				ctx, turns := t.Context(), make(chan world.Turn, 1)
				keys, read := w.Keys("a", "b", "c"), []string(nil)
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, keys, world.Long, nil))
				stand(t, w, mini, many, 1, time.Now().Add(scene.life))
				write := keys
				if scene.reads {
					write, read = nil, keys
				}
				w.Wait(ctx, turns, "last", write, read)
				w.InLine(t, keys[0], many+1)
				stand(t, w, mini, many, 1<<51, time.Now().Add(scene.life))
				check.NoError(t, scene.end(ctx, w, lock))
				over := time.Now().Add(scene.after)
				got := <-turns
				check.NoError(t, got.Err)
				if late := time.Since(over); late > most {
					t.Errorf("it has its turn %v after the end, want at most %v", late, most)
				}
				check.NoError(t, got.Lock.Release(ctx))
				admin := mini.Client(t)
				check.Eventually(t, time.Second, "all who are gone are dropped", func() bool {
					left := int64(0)
					for _, key := range keys {
						left += admin.ZCount(ctx, "redislock:line:{"+key+"}", "-inf", fmt.Sprint(1<<52-1)).Val()
					}
					return left == 0
				})
			})
		})
	}
}
