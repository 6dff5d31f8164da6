package election_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A told is what a follower is told.
type told struct {
	term election.Term
	err  error
	at   time.Time
}

// follow follows until the test ends.
func follow(t *testing.T, key string, every time.Duration, nodes ...*redislock.Client) <-chan told {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	all, gone := make(chan told, 100), make(chan struct{})
	go func() {
		defer close(gone)
		defer close(all)
		for term, err := range election.Follow(ctx, key, every, nodes...) {
			all <- told{term, err, time.Now()}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-gone
	})
	return all
}

func TestFollow(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		all := follow(t, w.Key("k"), 10*time.Millisecond, w.Client)
		last := ""
		want := func(what string, led bool, id string) {
			t.Helper()
			got := next(t, all, what)
			for failed := false; got.err != nil || failed && got.term.ID == last && id != last; got = next(t, all, what) {
				// On a busy machine an answer can come too late. Then an error is told, and what is known again.
				if failed = true; got.term.ID != last || got.err != nil && !errors.Is(got.err, context.DeadlineExceeded) {
					t.Fatalf("%s: got %v and %v, and id %q was told last", what, got.term, got.err, last)
				}
			}
			if last = id; got.term.Led != led || got.term.ID != id {
				t.Errorf("%s: got %v, want id %q", what, got.term, id)
			}
		}
		want("that nobody leads", false, "")
		a := start(t, candidate(w, "a", world.Long)).elected(t)
		want("a", true, a.id)
		r := start(t, candidate(w, "a", world.Long))
		inLine(t, w, 1)
		a.finish <- nil
		b := r.elected(t)
		want("b", true, b.id)
		b.finish <- nil
		check.NoError(t, next(t, r.ended, "the end of Run"))
		want("that nobody leads again", false, "")
	})
}

// In virtual time: a change is told after the interval and a tenth of it at most, and nothing is told or asked more often.
func TestFollowPace(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		const every = 2 * time.Second
		var asked atomic.Int64
		rdb := mini.Client(t)
		all := follow(t, w.Key("k"), every, world.NewClient(t, rdb))
		next(t, all, "that nobody leads")
		time.Sleep(500 * time.Millisecond)
		rdb.AddHook(check.Around{After: func(redis.Cmder) { asked.Add(1) }})
		since := time.Now()
		l := start(t, candidate(w, "a", time.Minute)).elected(t)
		got := next(t, all, "the leader")
		if took := got.at.Sub(since); got.term.ID != l.id || took > every+every/10 {
			t.Errorf("got %v after %v, want id %s after %v at most", got.term, took, l.id, every+every/10)
		}
		asked.Store(0)
		time.Sleep(time.Minute)
		if n := asked.Load(); n < 26 || n > 31 {
			t.Errorf("it has asked %d times in a minute, want once each %v", n, every)
		}
		if len(all) > 0 {
			t.Errorf("it tells %v, and nothing has changed", next(t, all, ""))
		}
	})
}

// An interval to which nothing can be added is not one of 0.
func TestFollowLongestPace(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var asked atomic.Int64
		w.RDB.AddHook(check.Around{Instead: func(redis.Cmder) bool {
			if asked.Add(1) > 10 {
				cancel()
			}
			return false
		}})
		for _, err := range election.Follow(ctx, w.Key("k"), math.MaxInt64, w.Client) {
			check.NoError(t, err)
		}
		if n := asked.Load(); n > 10 {
			t.Errorf("it has asked %d times and more, want once", n)
		}
	})
}

// The usual interval is a second.
func TestFollowUsualPace(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		all := follow(t, w.Key("k"), 0, w.Client)
		first := next(t, all, "that nobody leads")
		start(t, candidate(w, "a", time.Minute)).elected(t)
		if took := next(t, all, "the leader").at.Sub(first.at); took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("it has asked after %v, want a second or up to a tenth more", took)
		}
	})
}

// An error is told once, with what was told last, and then what is known again.
func TestFollowFaults(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		var refuses atomic.Bool
		rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			if refuses.Load() && strings.HasPrefix(cmd.Name(), "eval") {
				cmd.SetErr(world.Refusal("LOADING Redis is loading the dataset in memory"))
				return true
			}
			return false
		}})
		l := start(t, candidate(w, "a", time.Minute)).elected(t)
		all := follow(t, w.Key("k"), time.Second, world.NewClient(t, rdb))
		if got := next(t, all, "the leader"); got.term.ID != l.id {
			t.Errorf("got %v", got.term)
		}
		refuses.Store(true)
		if got := next(t, all, "the error"); !redis.HasErrorPrefix(got.err, "LOADING") || got.term.ID != l.id {
			t.Errorf("got %v and %v, want the error, and the last leader", got.term, got.err)
		}
		time.Sleep(20 * time.Second)
		if len(all) > 0 {
			t.Error("the error is told more than once")
		}
		refuses.Store(false)
		if got := next(t, all, "that it is known again"); got.err != nil || got.term.ID != l.id {
			t.Errorf("got %v and %v, want the leader", got.term, got.err)
		}
	})
}

// The loop ends with its context, when its body breaks it, and when the Client is closed.
func TestFollowEnds(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range election.Follow(ctx, w.Key("k"), time.Hour, w.Client) {
		check.NoError(t, err)
		time.AfterFunc(10*time.Millisecond, cancel) // while it waits for the next time
	}
	for term, err := range election.Follow(ctx, w.Key("k"), time.Hour, w.Client) {
		t.Errorf("it tells %v and %v although the context has ended", term, err)
	}
	for _, err := range election.Follow(t.Context(), w.Key("k"), time.Hour, w.Client) {
		check.NoError(t, err)
		break
	}
	check.NoError(t, w.RDB.Close())
	n := 0
	for _, err := range election.Follow(t.Context(), w.Key("k"), time.Millisecond, w.Client) {
		n++
		check.Is(t, err, redis.ErrClosed)
	}
	if n != 1 {
		t.Errorf("it has told %d things of a Client that is closed, want the error", n)
	}
}
