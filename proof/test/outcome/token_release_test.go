package outcome_test

import (
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// released is a Release of "a" under a token, whose first try ends with a broken connection: after it was
// executed, or before, for all that is known. What it returns as well sends that try once more.
func released(t *testing.T, w *world.World, executed bool) (opt *redislock.Options, late func() any) {
	t.Helper()
	opt = &redislock.Options{Token: t.Name()}
	warm := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("warm"), time.Minute, nil))
	check.NoError(t, warm.Release(t.Context())) // the server knows the scripts
	lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Minute, opt))
	var first []any
	w.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		if first != nil {
			return send(cmds)
		}
		first = cmds[0].Args()
		if executed {
			check.NoError(t, send(cmds))
		}
		return io.EOF
	}})
	check.NoError(t, lock.Release(t.Context()))
	return opt, func() any { return w.RDB.Do(t.Context(), first...).Val() }
}

// The next Obtain of a token does not wait for a Release that may still be on its way: that changes nothing
// any more.
func TestTokenAfterBrokenRelease(t *testing.T) {
	for name, executed := range map[string]bool{"that was executed": true, "that was not": false} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				opt, late := released(t, w, executed)
				began := time.Now()
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Minute, opt))
				if waited := time.Since(began); waited > 0 {
					t.Errorf("waited %v", waited)
				}
				if reply := late(); reply != int64(-3) {
					t.Errorf("got reply %v to what came late, want it overtaken", reply)
				}
				check.NoError(t, lock.Refresh(t.Context(), time.Minute))
				check.NoError(t, lock.Release(t.Context()))
				w.WantFree(t, w.Key("a"))
			})
		})
	}
}
