package outcome_test

import (
	"cmp"
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// The answer to a Release has the turn of the next waiter of the same Client. If it does not come, the waiter asks as soon as that
// is known.
func TestUnansweredReleaseTellsTheNext(t *testing.T) {
	const late = 2 * time.Second // longer than a Release waits
	for name, c := range map[string]struct {
		tries int
		lose  func(send func() error, leave func()) error
		after time.Duration
	}{
		"its only answer": {1, func(send func() error, _ func()) error { _ = send(); return io.EOF }, 0},
		"the first one":   {2, func(send func() error, _ func()) error { _ = send(); return io.EOF }, time.Second},
		"it comes late": {1, func(send func() error, leave func()) error {
			leave()
			defer time.Sleep(late)
			return send()
		}, late},
		"it is lost late": {1, func(send func() error, leave func()) error {
			leave()
			_ = send()
			time.Sleep(late)
			return io.EOF
		}, late},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb := mini.Client(t, func(o *redis.Options) { o.MaxRetries = cmp.Or(c.tries-1, -1) })
				client := world.NewClient(t, rdb)
				check.NoError(t, world.Cycle(t.Context(), client, w.Key("warm"))) // the server knows the scripts
				holder := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("k"), time.Hour, nil))
				turns := make(chan world.Turn, 1)
				apart := world.Apart(t.Context())
				(&world.World{RDB: w.RDB, Client: client, Prefix: w.Prefix}).Wait(apart, turns, "next", w.Keys("k"), nil)
				synctest.Wait()
				ctx, leave := context.WithCancel(t.Context())
				lost := false
				onRelease(rdb, func(send func() error) error {
					if lost {
						return send()
					}
					lost = true
					return c.lose(send, leave)
				})
				began := time.Now()
				if err := holder.Release(ctx); c.tries > 1 {
					check.NoError(t, err)
				} else {
					check.Is(t, err, redislock.ErrUnknownOutcome)
				}
				next := world.WantTurn(t, turns, "next")
				if took := time.Since(began); took > c.after {
					t.Errorf("the next one has waited for %v, want %v at most", took, c.after)
				}
				check.NoError(t, next[0].Release(t.Context()))
				leave()
			})
		})
	}
}

// A lock that is given back because nobody has it any more leaves alone what another lock of its token has obtained since.
func TestGivenBackLater(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		must := check.Must[*redislock.Lock](t)
		one := must(w.Client.As("t").Obtain(t.Context(), w.Keys("a", "b"), time.Hour, nil))
		two := must(w.Client.As("t").Obtain(t.Context(), w.Keys("b"), time.Hour, nil))
		check.NoError(t, one.Release(pace.GivingBack(t.Context())))
		w.WantFree(t, w.Key("a"))
		check.NoError(t, two.Refresh(t.Context(), time.Hour))
	})
}

// A question whose context ends before there is an answer has no outcome.
func TestUnansweredQuestions(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, world.Fenced()))
		w.RDB.AddHook(check.Slow(time.Minute))
		for name, ask := range map[string]func(context.Context) error{
			"TTL":        func(ctx context.Context) error { _, err := lock.TTL(ctx); return err },
			"RaiseFence": func(ctx context.Context) error { return lock.RaiseFence(ctx, 1<<51) },
			"Inspect":    func(ctx context.Context) error { _, err := w.Client.Inspect(ctx, w.Keys("a", "b")); return err },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			check.Is(t, ask(ctx), redislock.ErrUnknownOutcome, context.DeadlineExceeded)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%s has taken %v", name, took)
			}
			cancel()
		}
	})
}

// An operation whose context ends while it waits for its next try says so, and why the last one has failed.
func TestEndedBetweenTries(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t, func(o *redis.Options) { o.MaxRetries = 10 })
		client := world.NewClient(t, rdb)
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
		const loading = "LOADING Redis is loading the dataset in memory"
		ctx, cancel := context.WithCancel(t.Context())
		rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			cancel()
			return check.Answer(cmd, world.Refusal(loading))
		}})
		err := lock.Refresh(ctx, time.Hour)
		check.Is(t, err, context.Canceled)
		if want := "redislock: refresh \"" + w.Key("a") + "\": context canceled: " + loading; err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	})
}

// With a wait and Queue there is one attempt, as long as the Obtain has no place in line.
func TestQueueWithWaitAsksOnce(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
		client := world.NewClient(t, rdb)
		asked := 0
		rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			if !check.RunIn(cmd).Of("obtain", "again") {
				return false
			}
			asked++
			return check.Answer(cmd, world.Refusal("LOADING Redis is loading the dataset in memory"))
		}})
		_, err := client.Obtain(t.Context(), w.Keys("a"), time.Hour, &redislock.Options{Queue: true, Wait: time.Minute})
		if err == nil || asked != 1 {
			t.Errorf("it has asked %d times, with error %v, want once", asked, err)
		}
	})
}

// A Close ends the Obtains of its Client that stand in line, those that wait behind others of it as well, at once.
func TestCloseEndsTheLine(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("k"), time.Hour, nil))
		client := world.NewClient(t, mini.Client(t))
		failed := make(chan error, 3)
		for range cap(failed) {
			go func() {
				_, err := client.Obtain(context.Background(), w.Keys("k"), time.Hour, &redislock.Options{Queue: true})
				failed <- err
			}()
			synctest.Wait()
		}
		began := time.Now()
		client.Close()
		for range cap(failed) {
			check.Is(t, <-failed, redis.ErrClosed)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("they have ended after %v", took)
		}
	})
}
