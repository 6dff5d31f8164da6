package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// takers take the key of a lock away without asking the library.
var takers = map[string]func(ctx context.Context, admin *redis.Client, key string) error{
	"DEL":      func(ctx context.Context, admin *redis.Client, key string) error { return admin.Del(ctx, key).Err() },
	"UNLINK":   func(ctx context.Context, admin *redis.Client, key string) error { return admin.Unlink(ctx, key).Err() },
	"FLUSHALL": func(ctx context.Context, admin *redis.Client, _ string) error { return admin.FlushAll(ctx).Err() },
	"EXPIRE": func(ctx context.Context, admin *redis.Client, key string) error {
		return admin.PExpire(ctx, key, time.Millisecond).Err()
	},
	"RENAME": func(ctx context.Context, admin *redis.Client, key string) error {
		return admin.Rename(ctx, key, key+"-renamed").Err()
	},
	"SET": func(ctx context.Context, admin *redis.Client, key string) error {
		return admin.Set(ctx, key, "somebody else", 50*time.Millisecond).Err()
	},
	"eviction": evict,
}

// evict has the server drop all its keys, for want of memory. It drops a few at a time.
func evict(ctx context.Context, admin *redis.Client, key string) error {
	if err := errors.Join(admin.ConfigSet(ctx, "maxmemory-policy", "allkeys-random").Err(), admin.ConfigSet(ctx, "maxmemory", "1").Err()); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		admin.Set(ctx, key+"-more", "", time.Minute) // for which there has to be room
		left, err := admin.DBSize(ctx).Result()
		switch {
		case err != nil:
			return err
		case left == 0:
			return admin.ConfigSet(ctx, "maxmemory", "0").Err()
		case time.Now().After(end):
			return fmt.Errorf("%d keys are left", left)
		}
	}
}

// Whoever takes the key of a lock away makes two holders, until the first one asks Redis the next time: then it learns of
// the loss, whether it asks itself or its watchdog does, and it does no harm to the second.
func TestKeysTakenAway(t *testing.T) {
	t.Parallel()
	for _, kind := range redistest.Servers() {
		for name, take := range takers {
			t.Run(fmt.Sprint(kind, ", ", name), func(t *testing.T) {
				t.Parallel()
				w := world.New(t, redistest.Start(t, kind))
				ctx := t.Context()
				retry := &redislock.Options{RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond)}
				asks := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("asks"), world.Long, nil))
				watched := world.LockKinds[0].Hold(t, w.Client, w.Key("watched"), 6*time.Second, true)

				check.NoError(t, take(ctx, w.RDB, w.Key("asks")))
				next := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("asks"), world.Long, retry))
				if name != "FLUSHALL" && name != "eviction" { // which have taken all keys
					check.NoError(t, take(ctx, w.RDB, watched.Keys[0]))
				}
				if !time.Now().Before(asks.Deadline()) {
					t.Error("there are no two holders: the README says too much")
				}
				check.Is(t, asks.Refresh(ctx, world.Long), redislock.ErrLockNotHeld)
				check.Is(t, asks.Release(ctx), redislock.ErrLockNotHeld)
				check.NoError(t, next.Refresh(ctx, world.Long))
				check.NoError(t, next.Release(ctx))
				watched.WantLost(t)
			})
		}
	}
}

// A lock whose key was given no end has one again when it is renewed, and is released as ever. Meanwhile nobody takes the key.
func TestKeyPersisted(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx, keys := t.Context(), w.Keys("a")
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, keys, world.Long, nil))
		check.NoError(t, w.RDB.Persist(ctx, keys[0]).Err())
		_, err := w.Client.Obtain(ctx, keys, world.Long, nil)
		check.Is(t, err, redislock.ErrNotObtained)
		check.NoError(t, lock.Refresh(ctx, world.Long))
		if left := check.Must[time.Duration](t)(w.RDB.PTTL(ctx, keys[0]).Result()); left <= 0 {
			t.Errorf("the key has no end after a renewal: %v", left)
		}
		check.NoError(t, w.RDB.Persist(ctx, keys[0]).Err())
		check.NoError(t, lock.Release(ctx))
		if n := check.Must[int64](t)(w.RDB.Exists(ctx, keys[0]).Result()); n != 0 {
			t.Error("the key is left")
		}
	})
}
