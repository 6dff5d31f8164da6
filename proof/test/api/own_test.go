package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
)

// ownWays are the ways in which an Obtain can wait for the lock of its own caller.
var ownWays = map[string]redislock.Options{
	"once":    {},
	"polling": {RetryStrategy: redislock.LinearBackoff(time.Second)},
	"in line": {Queue: true},
}

// under runs fn under a lock that writes "a" and reads "b".
func under(t *testing.T, w *world.World, fn func(ctx context.Context)) {
	t.Helper()
	lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a"), Read: w.Keys("b")}, world.Long, nil))
	fn(lock.Context(t.Context()))
	check.NoError(t, lock.Release(t.Context()))
	world.WantNothing(t, w.RDB, w.Prefix)
}

// A lock inside of one's own is an error at the first refusal, however it would wait.
func TestLockInOwn(t *testing.T) {
	for way, opt := range ownWays {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				under(t, w, func(ctx context.Context) {
					began := time.Now()
					for name, err := range map[string]error{
						"write in write":       w.Client.With(ctx, w.Keys("c", "a"), world.Long, &opt, nil),
						"write in read":        w.Client.With(ctx, w.Keys("b"), world.Long, &opt, nil),
						"read in write":        obtainSet(ctx, w, nil, w.Keys("a"), opt),
						"under another inside": w.Client.With(ctx, w.Keys("d"), world.Long, nil, func(ctx context.Context) error { return obtainSet(ctx, w, w.Keys("a"), nil, opt) }),
					} {
						if !isOwn(err) || !errors.Is(err, redislock.ErrNotObtained) {
							t.Errorf("%s: got error %v", name, err)
						}
						if want := "; the caller holds it itself, and would wait for its own lock: see package reentrant"; err != nil && !strings.HasSuffix(err.Error(), want) {
							t.Errorf("%s: got error %v, want %q behind it", name, err, want)
						}
					}
					if took := time.Since(began); took > time.Second {
						t.Errorf("it took %v", took)
					}
					check.NoError(t, obtainSet(ctx, w, w.Keys("e"), w.Keys("b"), opt))
				})
			})
		})
	}
}

// It is one as well if the attempts before have failed.
func TestLockInOwnAfterErrors(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		under(t, w, func(ctx context.Context) {
			const loading, late = 5 * time.Second, 20 * time.Second
			began := time.Now()
			w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
				return check.RunIn(cmd).Of("obtain") && time.Since(began) < loading && check.Answer(cmd, world.Refusal("LOADING the data"))
			}})
			err := obtainSet(ctx, w, w.Keys("a"), nil, ownWays["polling"])
			if took := time.Since(began); !isOwn(err) || took < loading || took > late {
				t.Errorf("after %v got error %v, want one about its own lock once the server is there", took, err)
			}
		})
	})
}

// isOwn reports whether an error is a conflict with a lock of the caller itself.
func isOwn(err error) bool {
	conflict, is := errors.AsType[*redislock.ConflictError](err)
	return is && conflict.Own
}

// obtainSet obtains and releases.
func obtainSet(ctx context.Context, w *world.World, write, read []string, opt redislock.Options) error {
	lock, err := w.Client.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, world.Long, &opt)
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}

// What is not certain to wait for itself waits as ever, or is refused as ever.
func TestLockInOwnIsCertain(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		other := world.NewClient(t, w.RDB)
		wait := 3 * time.Second
		poll := redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second), Wait: wait}
		under(t, w, func(ctx context.Context) {
			held := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("held"), world.Long, nil))
			for name, obtain := range map[string]func() error{
				"another Client": func() error { _, err := other.Obtain(ctx, w.Keys("a"), world.Long, &poll); return err },
				"an Owner": func() error {
					_, err := w.Client.As("another owner").Obtain(ctx, w.Keys("a"), world.Long, &poll)
					return err
				},
				"without its end": func() error {
					return obtainSet(context.WithoutCancel(ctx), w, w.Keys("a"), nil, poll)
				},
				"another's key": func() error { return obtainSet(ctx, w, w.Keys("held"), nil, poll) },
				"a part": func() error {
					_, err := multi.Obtain(ctx, []multi.Part{{Client: w.Client, Set: redislock.Set{Write: w.Keys("a")}}}, world.Long, &poll)
					return err
				},
				"a part in line": func() error {
					_, err := multi.Obtain(ctx, []multi.Part{{Client: w.Client, Set: redislock.Set{Write: w.Keys("a")}}}, world.Long,
						&redislock.Options{Queue: true, Watchdog: true, Wait: wait})
					return err
				},
				"a node": func() error {
					client := check.Must[*quorum.Client](t)(quorum.New([]*redislock.Client{w.Client}))
					defer client.Close()
					_, err := client.Obtain(ctx, w.Keys("a"), world.Long, &poll)
					return err
				},
			} {
				began := time.Now()
				err := obtain()
				if isOwn(err) || !errors.Is(err, redislock.ErrNotObtained) || time.Since(began) < wait-time.Second {
					t.Errorf("%s: after %v got error %v", name, time.Since(began), err)
				}
			}
			check.NoError(t, held.Release(t.Context()))
		})
	})
}

// A lock whose token others may know is not certain to be in the way: they may free its keys.
func TestLockInOwnWithKnownToken(t *testing.T) {
	t.Parallel()
	for name, obtain := range map[string]func(t *testing.T, w *world.World) *redislock.Lock{
		"an Owner": func(t *testing.T, w *world.World) *redislock.Lock {
			t.Helper()
			return check.Must[*redislock.Lock](t)(w.Client.As(t.Name()).Obtain(t.Context(), w.Keys("a"), world.Long, nil))
		},
		"a token that was asked for": func(t *testing.T, w *world.World) *redislock.Lock {
			t.Helper()
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
			_ = lock.Token()
			return lock
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				lock := obtain(t, w)
				for way, opt := range ownWays {
					opt.Wait = 3 * time.Second
					if err := obtainSet(lock.Context(t.Context()), w, w.Keys("a"), nil, opt); isOwn(err) || !errors.Is(err, redislock.ErrNotObtained) {
						t.Errorf("%s: got error %v", way, err)
					}
				}
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}
