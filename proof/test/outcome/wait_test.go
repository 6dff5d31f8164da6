package outcome_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// ways are the options of those who wait.
var ways = map[string]redislock.Options{
	"poll":  {RetryStrategy: redislock.LinearBackoff(150 * time.Millisecond)},
	"queue": {Queue: true},
}

// wantWaitOver checks the error of an Obtain that has waited in vain, and that it took so long, in a bubble.
func wantWaitOver(t *testing.T, err error, began time.Time, wait time.Duration) {
	t.Helper()
	check.Is(t, err, redislock.ErrWaitOver, redislock.ErrNotObtained)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redislock.ErrUnknownOutcome) {
		t.Errorf("got error %v, which nobody's context has caused", err)
	}
	if took := time.Since(began); took < wait || took > wait+10*time.Millisecond {
		t.Errorf("it took %v, want %v", took, wait)
	}
}

// If nobody answers within Wait, nobody knows whether the lock was granted, and what may have been is cleared up.
func TestWaitUnanswered(t *testing.T) {
	t.Parallel()
	for way, opt := range ways {
		for _, where := range []string{"dial", "read"} {
			t.Run(way+"/"+where, func(t *testing.T) {
				whileStuck(t, func(t *testing.T, w *world.World, m *stuckNetwork) {
					m.sticks(where)
					opt, began := opt, time.Now()
					opt.Wait = time.Second
					_, err := w.Client.Obtain(context.Background(), w.Keys("a"), time.Minute, &opt)
					check.Is(t, err, redislock.ErrWaitOver, redislock.ErrUnknownOutcome)
					if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "before that") {
						t.Errorf("got error %v", err)
					}
					if took := time.Since(began); took < opt.Wait || took > opt.Wait+100*time.Millisecond {
						t.Errorf("it took %v, want %v", took, opt.Wait)
					}
					m.sticks("")
					time.Sleep(30 * time.Second)
					lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(context.Background(), w.Keys("a"), time.Hour, nil))
					check.NoError(t, lock.Release(context.Background()))
				})
			})
		}
	}
}

// One attempt is made however short Wait is, and what it is granted counts, unless the caller's context has ended.
func TestWaitMakesOneAttempt(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for _, opt := range []redislock.Options{{}, ways["poll"], ways["queue"]} {
			opt.Wait = time.Microsecond
			lock, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &opt)
			for slow := false; err != nil; lock, err = w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &opt) {
				// An answer can take longer than an attempt is given; then the clean-up has the key for a moment.
				if slow = slow || errors.Is(err, redislock.ErrUnknownOutcome); !slow {
					t.Fatal(err)
				}
			}
			_, err = w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, &opt)
			for errors.Is(err, redislock.ErrUnknownOutcome) {
				_, err = w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, &opt)
			}
			world.WantConflict(t, err, w.Key("a"), redislock.ModeWrite)
			if !errors.Is(err, redislock.ErrWaitOver) {
				t.Errorf("got error %v of %+v", err, opt)
			}
			check.NoError(t, lock.Release(t.Context()))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			rdb := redis.NewClient(w.RDB.Options()) // of a Client that does nothing in the background
			t.Cleanup(func() { _ = rdb.Close() })
			client := world.NewClient(t, rdb)
			world.WantUnsent(t, rdb, context.Canceled, func() error {
				_, err := client.Obtain(ctx, w.Keys("a"), world.Long, &opt)
				return err
			})
			w.WantFree(t, w.Key("a"))
		}
	})
}

// Callers that are refused by one answer wait each for as long as they said.
func TestWaitTogether(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				began, wait := time.Now(), time.Duration(i+1)*time.Second
				_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{
					Wait: wait, RetryStrategy: redislock.LinearBackoff(time.Second),
				})
				wantWaitOver(t, err, began, wait)
			})
		}
		all.Wait()
	})
}

// An Obtain that is only told how long asks again and again; one whose strategy says that it asks once does not.
func TestWaitAlone(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]redislock.RetryStrategy{
		"no strategy": nil, "NoRetry": redislock.NoRetry(), "LimitRetry of nil": redislock.LimitRetry(nil, 5),
		"LinearBackoff of 0": redislock.LinearBackoff(0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, j *world.Journal) {
				holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
				began := time.Now()
				opt := &redislock.Options{Wait: 3 * time.Second, RetryStrategy: strategy}
				_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, opt)
				if strategy != nil {
					check.Is(t, err, redislock.ErrNotObtained)
					if errors.Is(err, redislock.ErrWaitOver) || time.Since(began) > time.Second {
						t.Errorf("it waited for %v: %v", time.Since(began), err)
					}
					return
				}
				wantWaitOver(t, err, began, opt.Wait)
				if asked := j.Count("refused"); asked != 1 {
					t.Errorf("the hooks were told %d times", asked)
				}
				// The waits are drawn from half to one and a half of 10, 20, 40, … 250 ms.
				if got := attemptsOf(err); got < 12 || got > 40 {
					t.Errorf("there were %d attempts in %v: %v", got, opt.Wait, err)
				}
				time.AfterFunc(time.Second, func() { _ = holder.Release(context.Background()) })
				began = time.Now()
				check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, opt))
				if late := time.Since(began) - time.Second; late < 0 || late > 300*time.Millisecond {
					t.Errorf("it came %v after the Release", late)
				}
			})
		})
	}
}

// attemptsOf reads how many attempts an error names.
func attemptsOf(err error) int {
	_, text, _ := strings.Cut(err.Error(), " and ")
	n := 0
	_, _ = fmt.Sscanf(text, "%d attempts", &n)
	return n
}

// A strategy that returns nil is a mistake, and the error says so.
func TestNilBackOff(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		bad := func() redislock.BackOff { return nil }
		free := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{RetryStrategy: bad}))
		for _, strategy := range []redislock.RetryStrategy{bad, redislock.LimitRetry(bad, 3)} {
			_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{RetryStrategy: strategy})
			check.Is(t, err, redislock.ErrNotObtained)
			if !strings.Contains(err.Error(), "the RetryStrategy has returned nil") {
				t.Errorf("got error %v", err)
			}
		}
		check.NoError(t, free.Release(t.Context()))
	})
}

// A keeper is a context that counts what is to be told of its end.
type keeper struct {
	context.Context
	told atomic.Int64
}

// AfterFunc is how contexts that are made of this one are to be told.
func (k *keeper) AfterFunc(func()) (stop func() bool) {
	k.told.Add(1)
	return func() bool { k.told.Add(-1); return true }
}

// An Obtain with a Wait leaves nothing at its context, which may last much longer.
func TestWaitLeavesItsContext(t *testing.T) {
	t.Parallel()
	for way, opt := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				forever := &keeper{Context: context.WithoutCancel(t.Context())}
				never := make(chan struct{})
				opt := opt
				opt.Wait = time.Hour
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(endless{forever, never}, w.Keys("a"), time.Minute, &opt))
				if n := forever.told.Load(); n != 0 {
					t.Errorf("its context is to tell %d of its end", n)
				}
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}

// An endless is a keeper that could end.
type endless struct {
	*keeper
	never chan struct{}
}

func (e endless) Done() <-chan struct{} { return e.never }
