package redislock_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// released is a Release of "a" under a token, whose first try ends with a broken connection: after it
// was executed, or before it was sent, for all that is known.
func released(t *testing.T, w *world, executed bool) *redislock.Options {
	t.Helper()
	opt := &redislock.Options{Token: t.Name()}
	lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), time.Minute, opt))
	broken := false
	w.rdb.AddHook(check.Around(func(cmd redis.Cmder, send func() error) error {
		if broken {
			return send()
		}
		if executed {
			if err := send(); err != nil {
				return err // the server does not know the script yet
			}
		}
		broken = true
		cmd.SetErr(io.EOF)
		return io.EOF
	}))
	noError(t, lock.Release(t.Context()))
	return opt
}

// The next Obtain of a token waits for a Release that may still be on its way, and no longer.
func TestTokenAfterBrokenRelease(t *testing.T) {
	t.Run("that was executed", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			opt := released(t, w, true)
			began := time.Now()
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), time.Minute, opt))
			if waited := time.Since(began); waited > 0 {
				t.Errorf("waited %v, though the keys were found free", waited)
			}
			noError(t, lock.Release(t.Context()))
		})
	})
	t.Run("that was not", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			began := time.Now()
			opt := released(t, w, false)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := w.client.Obtain(ctx, w.keys("a"), time.Minute, opt)
			wantIs(t, err, redislock.ErrNotObtained)
			wantIs(t, err, context.DeadlineExceeded)
			if !strings.Contains(err.Error(), "may still arrive") {
				t.Errorf("got error %v, want one that says what it has waited for", err)
			}
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), time.Minute, opt))
			if waited := time.Since(began); waited != 10*time.Second {
				t.Errorf("waited until %v after the first try, want 10s", waited)
			}
			noError(t, lock.Release(t.Context()))
		})
	})
	for _, queues := range []bool{false, true} {
		t.Run("until Close", func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
				opt := released(t, w, false)
				opt.Queue = queues
				obtained := make(chan error, 1)
				go func() {
					_, err := w.client.Obtain(t.Context(), w.keys("a"), time.Minute, opt)
					obtained <- err
				}()
				time.Sleep(time.Second)
				began := time.Now()
				w.client.Close()
				wantIs(t, <-obtained, redis.ErrClosed)
				if took := time.Since(began); took > 0 {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
