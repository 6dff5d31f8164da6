package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// foreignStrings are strings that cannot be values of a lock.
var foreignStrings = map[string]string{
	"empty": "", "long": strings.Repeat("x", 513), "long, with a '|'": strings.Repeat("x", 513) + "|metadata",
}

// A string that cannot be a value of a lock is told apart although it has a TTL, however one asks for its key: by a short
// cut, by what looks at every key, alone or in line. When it has ended the key is had.
func TestForeignString(t *testing.T) {
	for name, text := range foreignStrings {
		t.Run(name, func(t *testing.T) {
			world.Scenario(t, func(t *testing.T, w *world.World) {
				check.NoError(t, w.RDB.Set(t.Context(), w.Key("a"), text, world.Long).Err())
				const briefly = 400 * time.Millisecond // in which a busy machine answers
				queue := world.Queue()
				queue.Wait = briefly
				for how, opt := range map[string]*redislock.Options{
					"once": nil, "fenced": {Fenced: true}, "with a token": nil, "with intents": {Intent: true},
					"in line": queue, "polling": {RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(20*time.Millisecond), 3)},
				} {
					obtain := w.Client.Obtain
					if how == "with a token" {
						obtain = w.Client.As("t").Obtain
					}
					for _, keys := range [][]string{w.Keys("a"), w.Keys("a", "b"), w.Keys("b", "a")} {
						_, err := obtain(t.Context(), keys, world.Long, opt)
						for errors.Is(err, redislock.ErrUnknownOutcome) { // a machine that stands still does not answer in time
							_, err = obtain(t.Context(), keys, world.Long, opt)
						}
						conflict := world.WantConflict(t, err, w.Key("a"), redislock.ModeForeign)
						if conflict.Type != "string" || conflict.Metadata != "" || conflict.TTL <= 0 || conflict.TTL > world.Long {
							t.Errorf("%s: got conflict %+v", how, conflict)
						}
						if !strings.Contains(err.Error(), "holds a string that is no lock, ") {
							t.Errorf("%s: got error %q", how, err)
						}
					}
				}
				state := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("a")))[0]
				if state.Mode != redislock.ModeForeign || state.Type != "string" || len(state.Holders) > 0 || state.TTL <= 0 {
					t.Errorf("got state %+v", state)
				}
				if got := check.Must[string](t)(w.RDB.Get(t.Context(), w.Key("a")).Result()); got != text {
					t.Errorf("got %q in Redis, want %q still", got, text)
				}
				check.NoError(t, w.RDB.PExpire(t.Context(), w.Key("a"), 50*time.Millisecond).Err())
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("b", "a"), world.Long, world.Queue()))
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}

// A string that can be a value of a lock is taken for one: the longest token, and one without a token, which whoever held
// the key has left.
func TestStringsThatMayBeLocks(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for i, text := range []string{"x", strings.Repeat("x", 512), strings.Repeat("x", 512) + "|m", "|", "|m", "|" + strings.Repeat("x", 9999)} {
			key := w.Key(fmt.Sprint(i))
			check.NoError(t, w.RDB.Set(t.Context(), key, text, world.Long).Err())
			for _, opt := range []*redislock.Options{nil, {Fenced: true}, {RetryStrategy: once}} {
				_, err := w.Client.Obtain(t.Context(), []string{key}, world.Long, opt)
				conflict := world.WantConflict(t, err, key, redislock.ModeWrite)
				if _, metadata, _ := strings.Cut(text, "|"); conflict.Metadata != metadata {
					t.Errorf("got metadata %q of %q", conflict.Metadata, text)
				}
			}
			state := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), []string{key}))[0]
			if state.Mode != redislock.ModeWrite || len(state.Holders) != 1 {
				t.Errorf("got state %+v of %q", state, text)
			}
		}
	})
}

// once is a strategy that asks again a single time.
func once() redislock.BackOff {
	return redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1)()
}
