package outcome_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A losing is a Client that loses answers, and the releases that it has sent.
type losing struct {
	*redislock.Client
	t     *testing.T
	mu    sync.Mutex
	loses string        // the script whose next answers are lost
	many  int           // so many of them
	runs  []decode.Call // of release.lua
}

// newLosing makes one on a server that knows the scripts.
func newLosing(t *testing.T, mini *redistest.Mini) *losing {
	t.Helper()
	rdb := mini.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
	l := &losing{Client: world.NewClient(t, rdb), t: t}
	for _, set := range []redislock.Set{{Write: []string{"w"}}, {Read: []string{"w"}}} {
		check.NoError(t, check.Must[*redislock.Lock](t)(l.ObtainSet(t.Context(), set, time.Hour, nil)).Release(t.Context()))
	}
	rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
		run := check.RunIn(cmd)
		l.mu.Lock()
		defer l.mu.Unlock()
		if run.Of("release") {
			l.runs = append(l.runs, run.Call)
		}
		if l.many > 0 && run.Of(l.loses) {
			l.many--
			cmd.SetErr(io.EOF)
		}
	}})
	return l
}

// lose has the next answers of a script lost.
func (l *losing) lose(script string, many int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loses, l.many = script, many
}

// cleared returns the last clean-up that was sent.
func (l *losing) cleared() decode.Call {
	l.t.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs) == 0 {
		l.t.Fatal("there was no clean-up")
	}
	return l.runs[len(l.runs)-1]
}

// A clean-up closes what it clears up. It looks for its token among readers if it is about keys that were to be read, and callers
// know the token.
func TestCleanUpLooksAmongReaders(t *testing.T) {
	for name, c := range map[string]struct {
		write, read []string
		as          bool
		want        bool
	}{
		"one to read": {nil, []string{"a"}, true, true}, "several to read": {nil, []string{"a", "b"}, true, true},
		"mixed": {[]string{"a"}, []string{"b"}, true, true}, "to write": {[]string{"a", "b"}, nil, true, false},
		"to read, a token of its own": {nil, []string{"a"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				l, set := newLosing(t, mini), redislock.Set{Write: c.write, Read: c.read}
				script := "obtain"
				if len(c.read) > 0 {
					script = "rw"
				}
				l.lose(script, 1)
				obtain := l.ObtainSet
				if c.as {
					obtain = l.As("token").ObtainSet
				}
				_, err := obtain(t.Context(), set, time.Hour, nil)
				check.Is(t, err, redislock.ErrUnknownOutcome)
				run := l.cleared()
				if run.Can.Search != c.want || !run.Can.Close || len(run.Stamp.Closes) != 1 {
					t.Errorf("got a clean-up that may %+v and closes %v, want that it looks among readers: %t", run.Can, run.Stamp.Closes, c.want)
				}
				if n := w.RDB.Exists(t.Context(), "a", "b").Val(); n != 0 {
					t.Errorf("%d keys are left", n)
				}
			})
		})
	}
}

// The clean-up of a Release closes it, also if its lock was attached, and leaves the keys for as long as the Release was to leave
// them.
func TestCleanUpOfARelease(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		l := newLosing(t, mini)
		lock := check.Must[*redislock.Lock](t)(l.Obtain(t.Context(), []string{"a"}, time.Hour, &redislock.Options{HoldAtLeast: time.Hour}))
		l.lose("release", 1)
		check.Is(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome)
		if run := l.cleared(); run.Left != time.Hour || !run.Can.Close {
			t.Errorf("got a clean-up that leaves the keys for %v and may %+v, want that it closes the Release, and leaves them for an hour", run.Left, run.Can)
		}
		if left := w.RDB.PTTL(t.Context(), "a").Val(); left != time.Hour-time.Minute {
			t.Errorf("the key is left for %v", left)
		}
		check.NoError(t, w.RDB.Set(t.Context(), "b", "token", time.Hour).Err()) // a lock of another process
		l.lose("release", 1)
		check.Is(t, l.Attach([]string{"b"}, "token").Release(t.Context()), redislock.ErrUnknownOutcome)
		run := l.cleared()
		if run.Left != 0 || !run.Can.Close || len(run.Stamp.Closes) != 1 || run.Value != "token" {
			t.Errorf("got a clean-up of %q that may %+v and closes %v, want that it closes the Release", run.Value, run.Can, run.Stamp.Closes)
		}
	})
}

// The clean-up of a waiter names the place in line that the waiter had.
func TestCleanUpOfAWaiter(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		l := newLosing(t, mini)
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{"a"}, time.Hour, nil))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		time.AfterFunc(20*time.Second, func() { l.lose("rw", 1000) })
		_, err := l.Obtain(ctx, []string{"a"}, time.Hour, world.Queue())
		check.Is(t, err, context.DeadlineExceeded)
		run := check.Run{Call: l.cleared()}
		if id, place := run.Waiter(); id == "" || !place.IsPossible() {
			t.Errorf("got a clean-up of the waiter %q at the place %+v", id, place)
		}
	})
}

// A clean-up that nobody answers goes on until 10 s after the lease, in pauses that double. One that the server refuses for good is
// the last.
func TestCleanUpEnds(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		answer error
		want   []time.Duration
	}{
		"unanswered": {io.EOF, []time.Duration{0, 50 * ms, 150 * ms, 350 * ms, 750 * ms, 1550 * ms, 3150 * ms, 6350 * ms}},
		"refused":    {world.Refusal("NOPERM"), []time.Duration{0}},
		"not ready":  {world.Refusal("LOADING"), []time.Duration{0, 50 * ms, 150 * ms, 350 * ms, 750 * ms, 1550 * ms, 3150 * ms, 6350 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb, began := mini.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }), time.Now()
				var mu sync.Mutex
				var got []time.Duration
				rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
					mu.Lock()
					defer mu.Unlock()
					if check.RunIn(cmd).Of("release") {
						got = append(got, time.Since(began))
						return check.Answer(cmd, c.answer)
					}
					return check.Answer(cmd, io.EOF)
				}})
				_, err := world.NewClient(t, rdb).Obtain(t.Context(), []string{"a"}, time.Second, nil)
				check.Is(t, err, redislock.ErrUnknownOutcome)
				time.Sleep(time.Hour)
				synctest.Wait()
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("times of the clean-ups (-want +got):\n%s", diff)
				}
			})
		})
	}
}
