package line_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// As long as nothing moves, a Client asks for all its waiters together. They live on, and keep their order.
func TestQueueAgainTogether(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		c := newCrowd(t, w, mini.Client(t), 25, 3)
		defer c.goHome(t)
		c.live(t, 5*time.Second)
		before := make(map[string][]string)
		for _, key := range c.keys {
			before[key] = c.who(t, key)
		}
		sent := check.Count(w.RDB, "evalsha")
		const seconds = 31 // more than twice as long as one who is not asked for counts as alive
		c.live(t, seconds*time.Second)
		if n := sent.Load(); n > seconds*4 {
			t.Errorf("got %d commands in %d seconds for %d waiters, want 4 a second at most", n, seconds, c.waiters)
		}
		for _, key := range c.keys {
			if got := c.who(t, key); !slices.Equal(got, before[key]) {
				t.Errorf("got the line %q, want %q", got, before[key])
			}
		}
	})
}

// What a waiter loses that has heard nothing of it comes back when it is asked for the next time.
func TestQueueAgainMends(t *testing.T) {
	t.Parallel()
	lose := func(t *testing.T, c *crowd, name, who string) {
		t.Helper()
		for _, entry := range c.line(t, c.Key(name)) {
			if strings.HasSuffix(entry, "|"+who) {
				check.NoError(t, c.admin.ZRem(t.Context(), "redislock:line:{"+c.Key(name)+"}", entry).Err())
			}
		}
	}
	comesBack := func(t *testing.T, c *crowd, lose func()) {
		t.Helper()
		var before [][]string
		for _, key := range c.keys {
			before = append(before, c.who(t, key))
		}
		lose()
		time.Sleep(askedFor)
		for i, key := range c.keys {
			if got := c.who(t, key); !slices.Equal(got, before[i]) {
				t.Errorf("got the line of %q %q, want %q", key, got, before[i])
			}
		}
	}
	t.Run("an entry", func(t *testing.T) {
		inCrowd(t, 60, func(t *testing.T, c *crowd) { comesBack(t, c, func() { lose(t, c, "k", "y") }) }, one)
	})
	t.Run("an entry in one line of several", func(t *testing.T) {
		inCrowd(t, 60, func(t *testing.T, c *crowd) { comesBack(t, c, func() { lose(t, c, "d", "xyz") }) }, three)
	})
	t.Run("a line", func(t *testing.T) {
		inCrowd(t, 60, func(t *testing.T, c *crowd) {
			comesBack(t, c, func() { check.NoError(t, c.admin.Del(t.Context(), "redislock:line:{"+c.Key("b")+"}").Err()) })
		}, three)
	})
	t.Run("all data", func(t *testing.T) {
		inCrowd(t, 60, func(t *testing.T, c *crowd) {
			comesBack(t, c, func() {
				check.NoError(t, c.admin.FlushAll(t.Context()).Err())
				for _, key := range slices.Clone(c.keys) {
					c.hold(t, strings.TrimPrefix(key, c.Prefix))
				}
				c.keys = c.keys[:len(c.keys)/2]
			})
		}, three)
	})
}

// A turn of which a waiter has heard nothing is found when it is asked for the next time, or sooner.
func TestQueueAgainFindsATurn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		waiters func(ctx context.Context, t *testing.T, c *crowd)
		free    func(t *testing.T, c *crowd)
		within  time.Duration
		who     string
	}{
		"the key is deleted": {one, func(t *testing.T, c *crowd) {
			t.Helper()
			check.NoError(t, c.admin.Del(t.Context(), c.Key("k")).Err())
		}, askedFor, "x"},
		"the message of the grant is lost": {one, func(t *testing.T, c *crowd) {
			t.Helper()
			entry := c.line(t, c.Key("k"))[0]
			value := entry[len(entry)-len("012345678901234567890123456789|x"):] // a token, and the metadata
			check.NoError(t, c.admin.ZRem(t.Context(), "redislock:line:{"+c.Key("k")+"}", entry).Err())
			check.NoError(t, c.admin.Set(t.Context(), c.Key("k"), value, world.Long).Err())
		}, askedFor, "x"},
		"the lease before it ends sooner": {one, func(t *testing.T, c *crowd) {
			t.Helper()
			check.NoError(t, c.admin.PExpire(t.Context(), c.Key("k"), 14*time.Second).Err())
			time.Sleep(14 * time.Second)
		}, 50 * time.Millisecond, "x"},
		"all keys of a set are deleted": {three, func(t *testing.T, c *crowd) {
			t.Helper()
			check.NoError(t, c.admin.Del(t.Context(), c.Key("b")).Err())
			time.Sleep(askedFor)
			world.WantNobody(t, c.turns) // the first of them waits for another, and those behind it for that one
			check.NoError(t, c.admin.Del(t.Context(), c.Key("d")).Err())
			time.Sleep(askedFor)
			world.WantNobody(t, c.turns)
			for _, entry := range c.line(t, c.Key("a"))[:1] {
				check.NoError(t, c.admin.ZRem(t.Context(), "redislock:line:{"+c.Key("a")+"}", entry).Err())
			}
			check.NoError(t, c.admin.Del(t.Context(), c.Key("a")).Err())
		}, askedFor, "xyz"},
	} {
		t.Run(name, func(t *testing.T) {
			inCrowd(t, 60, func(t *testing.T, c *crowd) {
				test.free(t, c)
				for watch := check.NewPatience(test.within); ; {
					got, ok := check.ReceiveBefore(c.turns, watch)
					if !ok {
						t.Fatalf("%s has not got the lock within %v", test.who, test.within)
					}
					check.NoError(t, got.Err)
					c.waiters--
					check.NoError(t, got.Lock.Release(t.Context()))
					if got.Who == test.who {
						return
					}
				}
			}, test.waiters)
		})
	}
}

// However long a waiter has waited, it takes the word of a message for its turn, and has nearly all of its lease.
func TestQueueAgainKeepsTheClock(t *testing.T) {
	inCrowd(t, 120, func(t *testing.T, c *crowd) {
		key, turn := c.Key("late"), make(chan *redislock.Lock, 1)
		holder := check.Must[*redislock.Lock](t)(c.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
		const ttl = 20 * time.Second
		go func() {
			turn <- check.Must[*redislock.Lock](t)(c.Client.Obtain(t.Context(), []string{key}, ttl, world.Queue()))
		}()
		c.InLine(t, key, 1)
		time.Sleep(45 * time.Second) // so many others have asked by themselves before it that it has not
		sent := check.Count(c.RDB, "evalsha")
		at := time.Now()
		check.NoError(t, holder.Release(t.Context()))
		lock := <-turn
		if n := sent.Load(); n != 1 {
			t.Errorf("got %d commands, want the release alone", n)
		}
		if left := lock.Deadline().Sub(at); left < ttl-ttl/100-200*time.Millisecond {
			t.Errorf("got a lease of %v, want nearly %v", left, ttl)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// While asking together fails, waiters ask by themselves, and in time.
func TestQueueAgainFails(t *testing.T) {
	t.Parallel()
	const during = 20 * time.Second
	for name, test := range map[string]struct {
		waiters int                     // all of whom ask by themselves a few times, or more than the rounds send by themselves
		answer  func(run check.Run) any // nil: the server answers
		during  time.Duration
		failed  int64 // how often, at least
		atLeast int64 // who ask by themselves
		atMost  int64
	}{
		"for want of a right": {60, func(check.Run) any {
			return world.Refusal("NOPERM this user has no permissions to run the 'mget' command")
		}, during, 4, 240, 550},
		"nobody answers":       {180, func(check.Run) any { return os.ErrDeadlineExceeded }, during, 13, 150, 900},
		"nobody answers twice": {180, func(check.Run) any { return os.ErrDeadlineExceeded }, 4500 * time.Millisecond, 1, 0, 100},
		"the slot moves": {180, func(check.Run) any {
			return world.Refusal("TRYAGAIN Multiple keys request during rehashing of slot")
		}, during, 13, 150, 900},
		"another script": {60, func(check.Run) any { return "OK" }, during, 4, 240, 550},
		"more waiters":   {60, func(check.Run) any { return []any{int64(1), int64(1000), int64(0)} }, during, 4, 240, 550},
		"of several slots": {180, func(run check.Run) any {
			if len(run.Keys) > 2 {
				return world.Refusal("CROSSSLOT Keys in request don't hash to the same slot")
			}
			return nil
		}, during, 1, 0, 65},
	} {
		t.Run(name, func(t *testing.T) {
			inCrowd(t, test.waiters, func(t *testing.T, c *crowd) {
				var failed, asked atomic.Int64
				until := time.Now().Add(test.during)
				c.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
					switch run := check.RunIn(cmd); {
					case run.Of("rw"):
						asked.Add(1)
					case run.Of("again") && time.Now().Before(until):
						answer := test.answer(run)
						if answer == nil {
							return false
						}
						failed.Add(1)
						return check.Answer(cmd, answer)
					}
					return false
				}})
				c.live(t, during)
				if n := asked.Load(); failed.Load() < test.failed || n < test.atLeast || n > test.atMost {
					t.Errorf("%d failed, want at least %d; waiters asked %d times by themselves, want %d to %d",
						failed.Load(), test.failed, n, test.atLeast, test.atMost)
				}
			}, one)
		})
	}
}

// The waiters of a Client that cannot be reached any more are passed over, although their channel is heard.
func TestQueueAgainClientDies(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		c := newCrowd(t, w, mini.Client(t), 1, 30)
		defer c.goHome(t)
		other := beside(t, w, mini)
		turns := make(chan world.Turn, 1)
		other.Wait(t.Context(), turns, "last", c.keys[:1], nil)
		w.InLine(t, c.keys[0], 31)
		var dead atomic.Bool
		w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			if dead.Load() {
				cmd.SetErr(os.ErrDeadlineExceeded)
			}
			return dead.Load()
		}})
		dead.Store(true)
		time.Sleep(16 * time.Second)
		check.NoError(t, c.admin.Del(t.Context(), c.keys[0]).Err())
		check.NoError(t, world.WantTurnWithin(t, turns, askedFor, "last")[0].Release(t.Context()))
		dead.Store(false)
	})
}
