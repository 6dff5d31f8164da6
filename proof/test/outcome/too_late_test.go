package outcome_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// onObtain calls a function for each request of an Obtain that was answered, before the answer is known. The function is told
// how many there were before.
func onObtain(rdb *redis.Client, fn func(n int64, cmd redis.Cmder)) {
	var answered atomic.Int64
	rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
		if check.RunIn(cmd).Of("obtain") && !redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			fn(answered.Add(1)-1, cmd)
		}
	}})
}

// A lock that comes when the context of its Obtain has ended is given back: nobody has it, and the error says so, whatever an
// attempt before has met and whether the Client was closed meanwhile.
func TestObtainedAfterItsContext(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opt     *redislock.Options
		lost    int64 // requests whose replies are lost before
		closed  bool  // the Client is, when the answer comes
		instead any   // the answer that comes instead
	}{
		"at once":                       {},
		"and may stand in line":         {opt: world.Queue()},
		"after one that was lost":       {opt: &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)}, lost: 4},
		"closed":                        {closed: true},
		"closed, and may stand in line": {opt: world.Queue(), closed: true},
		"overtaken":                     {instead: proto.Withdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb := mini.Client(t)
				client := redislock.New(rdb)
				defer client.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				onObtain(rdb, func(n int64, cmd redis.Cmder) {
					if n < test.lost {
						check.NoError(t, w.RDB.Del(t.Context(), w.Key("a")).Err())
						cmd.SetErr(io.EOF)
						return
					}
					if n > test.lost {
						return
					}
					if test.closed {
						go client.Close()
						synctest.Wait()
					}
					cancel()
					if test.instead != nil {
						check.NoError(t, w.RDB.Del(t.Context(), w.Key("a")).Err())
						check.Answer(cmd, test.instead)
					}
				})
				_, err := client.Obtain(ctx, w.Keys("a"), time.Hour, test.opt)
				check.Is(t, err, context.Canceled, redislock.ErrNotObtained)
				if errors.Is(err, redislock.ErrUnknownOutcome) {
					t.Errorf("got error %v, want one that says that nobody has the lock", err)
				}
				time.Sleep(time.Minute)
				w.WantFree(t, w.Key("a"))
			})
		})
	}
}

// An answer counts for as long after the end of Options.Wait as at first, even if the attempt before was not answered.
func TestAnswerAfterOneThatDidNotCome(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		const ttl, wait = time.Hour, 90 * time.Minute
		began, stuck := time.Now(), make(chan struct{})
		defer close(stuck)
		var sent atomic.Int64
		w.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			if !check.Among(cmds, "obtain") {
				return send(cmds)
			}
			if sent.Add(1) == 1 {
				<-stuck
				return io.EOF
			}
			err := send(cmds)
			if !redis.HasErrorPrefix(err, "NOSCRIPT") {
				time.Sleep(wait + 50*time.Millisecond - time.Since(began))
			}
			return err
		}})
		lock, err := w.Client.Obtain(context.Background(), w.Keys("a"), ttl, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(time.Second), Wait: wait,
		})
		check.NoError(t, err)
		if n := sent.Load(); n < 2 {
			t.Fatalf("%d requests were sent", n)
		}
		check.NoError(t, lock.Release(context.Background()))
	})
}

// Who stands in line asks again if an answer came too late, but not for ever: a ttl may be too short for the way to the server.
func TestAnswersAreAlwaysTooLate(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		const ttl = time.Second
		asked := 0
		p := &world.FakeServer{Script: func(run check.Run) string {
			if world.AsksFirst(run) {
				return world.HeldBySomebody
			}
			if world.StandsInLine(run) {
				asked++
				time.Sleep(ttl + ttl/10)
			}
			return ":1\r\n"
		}}
		client := world.NewClient(t, p.Client(t))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := client.Obtain(ctx, []string{"k"}, ttl, world.Queue())
		check.Is(t, err, redislock.ErrNotObtained)
		if ctx.Err() != nil || asked < 2 || asked > 10 {
			t.Errorf("it has asked %d times, and ended with %v", asked, err)
		}
	})
}
