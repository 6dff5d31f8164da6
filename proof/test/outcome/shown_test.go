package outcome_test

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
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// isForgotten reports whether the process knows nothing of a token any more.
func isForgotten(token string) bool {
	before := owners.Of(token)
	before.Done(token)
	after := owners.Of(token)
	defer after.Done(token)
	return after != before
}

// everything does with a fenced lock of the keys a and b all that asks Redis, and releases it.
func everything(ctx context.Context, w *world.World, lock *redislock.Lock) error {
	_, err := lock.TTL(ctx)
	return errors.Join(err, lock.Refresh(ctx, time.Second), lock.Refresh(ctx, time.Minute), lock.Downgrade(ctx), lock.Upgrade(ctx),
		lock.RaiseFence(ctx, lock.Fence()+1), lock.ReleaseKeys(ctx, []string{w.Key("b")}), lock.Release(ctx))
}

// eachLost has the first try of every request be executed, and not answered.
func eachLost(w *world.World) {
	var odd atomic.Bool
	w.RDB.AddHook(check.Around{After: func(cmd redis.Cmder) {
		if check.RunIn(cmd).Script != "" && cmd.Err() == nil && odd.CompareAndSwap(false, true) {
			cmd.SetErr(io.EOF)
			return
		}
		odd.Store(false)
	}})
}

// The process forgets a token once nobody has a lock of it, and no request can come late: otherwise each such token would stay
// in its memory.
func TestShownTokenIsForgotten(t *testing.T) {
	const token = "a token of the caller's"
	obtain := func(t *testing.T, w *world.World, token string) *redislock.Lock {
		t.Helper()
		if token == "" {
			return check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Minute, world.Fenced()))
		}
		return check.Must[*redislock.Lock](t)(w.Client.As(token).Obtain(t.Context(), w.Keys("a", "b"), time.Minute, world.Fenced()))
	}
	for name, uses := range map[string]func(t *testing.T, w *world.World, mini *redistest.Mini) string{
		"it is asked for": func(t *testing.T, w *world.World, _ *redistest.Mini) string {
			t.Helper()
			lock := obtain(t, w, "")
			token := lock.Token()
			check.NoError(t, everything(t.Context(), w, lock))
			return token
		},
		"it is given": func(t *testing.T, w *world.World, _ *redistest.Mini) string {
			t.Helper()
			check.NoError(t, everything(t.Context(), w, obtain(t, w, token)))
			return token
		},
		"answers are lost before it is asked for": func(t *testing.T, w *world.World, _ *redistest.Mini) string {
			t.Helper()
			lock := obtain(t, w, "")
			eachLost(w)
			check.NoError(t, lock.Refresh(t.Context(), time.Second))
			token := lock.Token()
			check.NoError(t, everything(t.Context(), w, lock))
			return token
		},
		"answers are lost": func(t *testing.T, w *world.World, _ *redistest.Mini) string {
			t.Helper()
			eachLost(w)
			check.NoError(t, everything(t.Context(), w, obtain(t, w, token)))
			return token
		},
		"the lock is lost": func(t *testing.T, w *world.World, _ *redistest.Mini) string {
			t.Helper()
			lock := obtain(t, w, token)
			check.NoError(t, w.RDB.Del(t.Context(), w.Key("a")).Err())
			check.Is(t, lock.Refresh(t.Context(), time.Minute), redislock.ErrLockNotHeld)
			return token
		},
		"a Downgrade is withdrawn": func(t *testing.T, w *world.World, _ *redistest.Mini) string {
			t.Helper()
			lock := obtain(t, w, token)
			var other *redislock.Lock
			w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
				if other != nil || !check.RunIn(cmd).Of("convert") {
					return false
				}
				other = obtain(t, w, token)
				return check.Answer(cmd, io.EOF)
			}})
			check.NoError(t, lock.Downgrade(t.Context()))
			check.NoError(t, other.Release(t.Context()))
			return token
		},
		"an Obtain is cleared up": func(t *testing.T, w *world.World, mini *redistest.Mini) string {
			t.Helper()
			mini.Miniredis().SetError("UNBLOCKED force unblock from blocking operation, instance state changed")
			_, err := w.Client.As(token).Obtain(t.Context(), w.Keys("a"), time.Minute, nil)
			check.Is(t, err, redislock.ErrUnknownOutcome)
			mini.Miniredis().SetError("")
			return token
		},
		"it is not cleared up, not even by Close": func(t *testing.T, w *world.World, mini *redistest.Mini) string {
			t.Helper()
			mini.Miniredis().SetError("UNBLOCKED force unblock from blocking operation, instance state changed")
			_, err := w.Client.As(token).Obtain(t.Context(), w.Keys("a"), time.Minute, nil)
			check.Is(t, err, redislock.ErrUnknownOutcome)
			w.Client.Close()
			return token
		},
		"it is not cleared up before its time is over": func(t *testing.T, w *world.World, mini *redistest.Mini) string {
			t.Helper()
			mini.Miniredis().SetError("UNBLOCKED force unblock from blocking operation, instance state changed")
			_, err := w.Client.As(token).Obtain(t.Context(), w.Keys("a"), time.Minute, nil)
			check.Is(t, err, redislock.ErrUnknownOutcome)
			return token
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				used := uses(t, w, mini)
				time.Sleep(2 * owners.GuardLife)
				if !isForgotten(used) {
					t.Error("the owner of the token is known still")
				}
			})
		})
	}
	t.Run("at once", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			lock := obtain(t, w, "")
			used := lock.Token()
			if isForgotten(used) {
				t.Error("the owner of the token is not known while it has a lock")
			}
			check.NoError(t, lock.Release(t.Context()))
			if !isForgotten(used) {
				t.Error("the owner of the token is known still")
			}
		})
	})
}
