package redislock_test

import (
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// released is a Release of "a" under a token, whose first try ends with a broken connection: after it was
// executed, or before, for all that is known. What it returns as well sends that try once more.
func released(t *testing.T, w *world, executed bool) (opt *redislock.Options, late func() any) {
	t.Helper()
	opt = &redislock.Options{Token: t.Name()}
	warm := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("warm"), time.Minute, nil))
	noError(t, warm.Release(t.Context())) // the server knows the scripts
	lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), time.Minute, opt))
	var first []any
	w.rdb.AddHook(check.Around(func(cmd redis.Cmder, send func() error) error {
		if first != nil {
			return send()
		}
		first = cmd.Args()
		if executed {
			noError(t, send())
		}
		cmd.SetErr(io.EOF)
		return io.EOF
	}))
	noError(t, lock.Release(t.Context()))
	return opt, func() any { return w.rdb.Do(t.Context(), first...).Val() }
}

// The next Obtain of a token does not wait for a Release that may still be on its way: that changes nothing
// any more.
func TestTokenAfterBrokenRelease(t *testing.T) {
	for name, executed := range map[string]bool{"that was executed": true, "that was not": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
				opt, late := released(t, w, executed)
				began := time.Now()
				lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), time.Minute, opt))
				if waited := time.Since(began); waited > 0 {
					t.Errorf("waited %v", waited)
				}
				if reply := late(); reply != int64(-3) {
					t.Errorf("got reply %v to what came late, want it overtaken", reply)
				}
				noError(t, lock.Refresh(t.Context(), time.Minute))
				noError(t, lock.Release(t.Context()))
				w.wantFree(t, w.key("a"))
			})
		})
	}
}
