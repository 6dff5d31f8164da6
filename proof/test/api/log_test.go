package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// logging makes a Client with a log that the test reads.
func logging(t *testing.T, w *world.World) (*redislock.Client, *check.Log) {
	t.Helper()
	log := new(check.Log)
	client := redislock.New(w.RDB, redislock.WithLogger(slog.New(log)))
	t.Cleanup(client.Close)
	return client, log
}

const lostMessage = "redislock: lock lost"

// wantOneLoss checks that a loss is logged, in one line, and that nothing else is logged above that level.
func wantOneLoss(t *testing.T, log *check.Log) {
	t.Helper()
	if diff := cmp.Diff([]string{lostMessage}, log.At(slog.LevelWarn)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestLogOfALoss(t *testing.T) {
	const ttl = 30 * time.Second
	for name, ruin := range map[string]func(t *testing.T, w *world.World, mini *redistest.Mini){
		"a renewal finds it": func(t *testing.T, w *world.World, _ *redistest.Mini) {
			t.Helper()
			check.NoError(t, w.RDB.Del(t.Context(), w.Key("a")).Err())
		},
		"renewals fail until the deadline": func(_ *testing.T, _ *world.World, mini *redistest.Mini) {
			mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
		},
		"a renewal fails, the next one finds it": func(t *testing.T, w *world.World, mini *redistest.Mini) {
			t.Helper()
			check.NoError(t, w.RDB.Del(t.Context(), w.Key("a")).Err())
			mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
			time.Sleep(ttl/3 + time.Second)
			mini.Miniredis().SetError("")
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				client, log := logging(t, w)
				err := client.With(t.Context(), w.Keys("a", "b"), ttl, nil, func(ctx context.Context) error {
					ruin(t, w, mini)
					<-ctx.Done()
					mini.Miniredis().SetError("")
					return nil
				})
				check.Is(t, err, redislock.ErrLockLost)
				synctest.Wait()
				wantOneLoss(t, log)
			})
		})
	}
	t.Run("only the Release of With finds it", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			client, log := logging(t, w)
			err := client.With(t.Context(), w.Keys("a"), ttl, nil, func(ctx context.Context) error {
				return w.RDB.Del(ctx, w.Key("a")).Err()
			})
			check.Is(t, err, redislock.ErrLockLost)
			synctest.Wait()
			wantOneLoss(t, log)
		})
	})
	t.Run("a Refresh finds it, and Release again", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			client, log := logging(t, w)
			lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a", "b"), ttl, world.Watched))
			check.NoError(t, w.RDB.Del(t.Context(), w.Key("a")).Err())
			for _, err := range []error{lock.Refresh(t.Context(), ttl), lock.Release(t.Context()), lock.Release(t.Context())} {
				check.Is(t, err, redislock.ErrLockNotHeld)
			}
			wantOneLoss(t, log)
		})
	})
}

// With does not return the error of its Release, so it is logged.
func TestLogOfAReleaseThatIsNotConfirmed(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		client, log := logging(t, w)
		check.NoError(t, client.With(t.Context(), w.Keys("a"), time.Minute, nil, func(context.Context) error {
			mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
			return nil
		}))
		mini.Miniredis().SetError("")
		if diff := cmp.Diff([]string{"redislock: release not confirmed"}, log.At(slog.LevelWarn)); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
	})
}

// What Close ends is logged for information, and not as a loss.
func TestLogOfAClose(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		client, log := logging(t, w)
		for i := range 3 {
			check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys(fmt.Sprint(i)), time.Minute, world.Watched))
		}
		unwatched := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("later"), time.Minute, nil))
		client.Close()
		ctx := unwatched.Context(t.Context()) // which nobody watches any more
		<-ctx.Done()
		synctest.Wait()
		if warnings := log.At(slog.LevelWarn); len(warnings) > 0 {
			t.Errorf("got warnings %q", warnings)
		}
		said := log.At(slog.LevelInfo)
		for _, message := range said {
			if message == lostMessage {
				t.Errorf("it is said as if it were a loss: %q", message)
			}
		}
		if len(said) != 4 {
			t.Errorf("got messages %q, want one for each lock", said)
		}
	})
}

// A set stands in the log as a list of its keys.
func TestLogOfASet(t *testing.T) {
	for n, shown := range map[int]int{1: 1, 2: 2, 20: 20, 25: 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				client, log := logging(t, w)
				keys := make([]string, n)
				for i := range keys {
					keys[i] = w.Key(fmt.Sprint(i))
				}
				lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, time.Minute, world.Watched))
				check.NoError(t, w.RDB.Del(t.Context(), keys[n-1]).Err())
				<-lock.Lost()
				synctest.Wait()
				if diff := cmp.Diff([]any{keys[:shown]}, log.Attr("keys")); diff != "" {
					t.Errorf("keys (-want +got):\n%s", diff)
				}
				var more []any
				if n > shown {
					more = []any{int64(n - shown)}
				}
				if diff := cmp.Diff(more, log.Attr("more_keys")); diff != "" {
					t.Errorf("more_keys (-want +got):\n%s", diff)
				}
			})
		})
	}
}
