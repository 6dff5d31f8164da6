package break_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// isBreak recognises a Break on its way.
func isBreak(name string, args []string) bool { return world.OperationOf(name, args) == "break" }

// keep has the relay keep the next Break back, which the server knows.
func keep(t *testing.T, l *world.Lossy) *redistest.Kept {
	t.Helper()
	check.Must[[]redislock.Holder](t)(l.Client.Break(t.Context(), []string{l.Key + ":free"}, ""))
	return l.Relay.Keep(isBreak)
}

// lossy is a client behind a relay, with a key that no other run of the test has.
func lossy(t *testing.T, mod func(*redis.Options)) *world.Lossy {
	t.Helper()
	l := world.NewLossy(t, mod)
	l.Key = world.NewName(t)
	return l
}

// direct obtains the key past the relay.
func direct(t *testing.T, l *world.Lossy) *redislock.Lock {
	t.Helper()
	return check.Must[*redislock.Lock](t)(world.NewClient(t, l.Direct).Obtain(t.Context(), []string{l.Key}, world.Long, nil))
}

// wantKept delivers a Break that was kept back, and checks that the owner of the key does not lose it.
func wantKept(t *testing.T, kept *redistest.Kept, lock *redislock.Lock) {
	t.Helper()
	if reply := string(kept.Deliver()); reply != ":-3\r\n" {
		t.Errorf("the late Break was answered %q, want that it was overtaken", reply)
	}
	check.NoError(t, lock.Release(t.Context()))
}

// A Break is done once at most, however late it comes: the next owner keeps the key.
func TestBreakLate(t *testing.T) {
	t.Parallel()
	for name, mod := range map[string]func(*redis.Options){
		"sent again by the library":   world.Persistent,
		"sent again by a wrapped one": func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = world.ReplyTimeout, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lossy(t, mod)
			if strings.Contains(name, "wrapped") {
				l.Client = world.NewClient(t, world.Bare{Scripter: l.RDB})
			}
			direct(t, l)
			kept := keep(t, l)
			list := check.Must[[]redislock.Holder](t)(l.Client.Break(t.Context(), []string{l.Key}, ""))
			if len(list) != 1 {
				t.Errorf("got %d broken, want 1", len(list))
			}
			wantKept(t, kept, direct(t, l))
		})
	}
	t.Run("its context ended", func(t *testing.T) {
		t.Parallel()
		l := lossy(t, func(*redis.Options) {})
		old := direct(t, l)
		check.Must[[]redislock.Holder](t)(l.Client.Break(t.Context(), []string{l.Key + ":free"}, ""))
		ctx, cancel := context.WithCancel(t.Context())
		held, came := make(chan struct{}), make(chan struct{})
		goOn := sync.OnceFunc(func() { close(held) })
		t.Cleanup(goOn)
		l.On("break", func(int) {
			cancel()
			<-held
			close(came)
		})
		_, err := l.Client.Break(ctx, []string{l.Key}, "")
		check.Is(t, err, redislock.ErrUnknownOutcome, context.Canceled)
		if strings.Contains(err.Error(), old.Token()) {
			t.Errorf("the error has a token: %v", err)
		}
		line := "redislock:line:{" + l.Key + "}"
		check.Eventually(t, 10*time.Second, "the Break is closed", func() bool { return check.Guards(t.Context(), l.Direct, line) == 1 })
		goOn()
		<-came
		time.Sleep(100 * time.Millisecond) // until it has been executed
		check.NoError(t, old.Release(t.Context()))
	})
	t.Run("it was done", func(t *testing.T) {
		t.Parallel()
		l := lossy(t, func(*redis.Options) {})
		old := direct(t, l)
		check.Must[[]redislock.Holder](t)(l.Client.Break(t.Context(), []string{l.Key + ":free"}, ""))
		ctx, cancel := context.WithCancel(t.Context())
		var cleaned atomic.Int64
		l.Relay.OnRequest(func(name string, args []string) {
			l.Relay.DropReplies(isBreak(name, args))
			switch world.OperationOf(name, args) {
			case "break":
				cancel()
			case "release":
				cleaned.Add(1)
			}
		})
		_, err := l.Client.Break(ctx, []string{l.Key}, "")
		check.Is(t, err, redislock.ErrUnknownOutcome)
		check.Is(t, old.Release(t.Context()), redislock.ErrLockNotHeld)
		check.Eventually(t, 10*time.Second, "it is cleaned up", func() bool { return cleaned.Load() > 0 })
		// The next clean-up is due 50 ms after the first one, the others in pauses that double. An answer ends them, and on
		// a busy machine it may come after the second one.
		time.Sleep(time.Second)
		before := cleaned.Load()
		time.Sleep(2 * time.Second)
		if after := cleaned.Load(); after != before {
			t.Errorf("it was cleaned up %d times, and then %d times more", before, after-before)
		}
	})
	t.Run("no answer at all", func(t *testing.T) {
		t.Parallel()
		l := lossy(t, world.Impatient)
		old := direct(t, l)
		kept := keep(t, l)
		l.On("break", func(int) { l.Relay.Refuse(true); l.Relay.Cut() })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := l.Client.Break(ctx, []string{l.Key}, "")
		check.Is(t, err, redislock.ErrUnknownOutcome)
		_ = kept
		l.Relay.OnRequest(nil)
		l.Relay.Refuse(false)
		line := "redislock:line:{" + l.Key + "}"
		check.Eventually(t, 20*time.Second, "the Break is closed", func() bool { return check.Guards(t.Context(), l.Direct, line) == 1 })
		check.NoError(t, old.Release(t.Context()))
	})
}

// As long as the clean-up of a Break that was not answered has not reached the server either, the Break may still be done, once:
// also to whoever holds the key by then. The log says so.
func TestBreakBeforeItsCleanUp(t *testing.T) {
	t.Parallel()
	l := lossy(t, func(*redis.Options) {})
	var log check.Log
	l.Client = world.NewClient(t, l.RDB, redislock.WithLogger(slog.New(&log)))
	old := direct(t, l)
	check.Must[[]redislock.Holder](t)(l.Client.Break(t.Context(), []string{l.Key + ":free"}, ""))
	ctx, cancel := context.WithCancel(t.Context())
	late, rest := make(chan struct{}), make(chan struct{})
	deliver := sync.OnceFunc(func() { close(late) })
	t.Cleanup(func() { close(rest) })
	t.Cleanup(deliver)
	l.Relay.OnRequest(func(name string, args []string) {
		switch world.OperationOf(name, args) {
		case "break":
			cancel()
			<-late
		case "release": // the clean-up
			<-rest
		}
	})
	_, err := l.Client.Break(ctx, []string{l.Key}, "")
	check.Is(t, err, redislock.ErrUnknownOutcome)
	check.NoError(t, old.Release(t.Context()))
	next := direct(t, l)
	deliver()
	check.Eventually(t, 20*time.Second, "the Break is done", func() bool { return !l.Locked(t) })
	check.Is(t, next.Release(t.Context()), redislock.ErrLockNotHeld)
	want := []string{"redislock: locks broken", "redislock: outcome of break is not known", "redislock: locks broken"}
	check.Eventually(t, 20*time.Second, "the log says that it was done", func() bool { return slices.Equal(log.At(slog.LevelWarn), want) })
}

// A Break that was not answered is closed, with one request of one key that sets a guard; and the log says that its outcome is
// not known. A Break that the server has refused is not.
func TestBreakIsClosed(t *testing.T) {
	const loading = "LOADING Redis is loading the dataset in memory"
	for name, c := range map[string]struct {
		answers []error
		closed  int
	}{
		"refused":                       {[]error{world.Refusal(loading)}, 0},
		"unanswered":                    {[]error{io.EOF}, 1},
		"unanswered first, and refused": {[]error{io.EOF, world.Refusal(loading)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb := mini.Client(t, func(o *redis.Options) { o.MaxRetries = cmp.Or(len(c.answers)-1, -1) })
				var log check.Log
				client := world.NewClient(t, rdb, redislock.WithLogger(slog.New(&log)))
				var closes [][]string
				rdb.AddHook(check.Around{
					Instead: func(cmd redis.Cmder) bool {
						if !check.RunIn(cmd).Of("break") || len(c.answers) == 0 {
							return false
						}
						answer := c.answers[0]
						c.answers = c.answers[1:]
						return check.Answer(cmd, answer)
					},
					After: func(cmd redis.Cmder) {
						if run := check.RunIn(cmd); run.Of("release") && cmd.Err() == nil {
							closes = append(closes, run.Keys)
						}
					},
				})
				_, err := client.Break(t.Context(), []string{"a", "b"}, "")
				if got := errors.Is(err, redislock.ErrUnknownOutcome); err == nil || got != (c.closed > 0) {
					t.Errorf("got error %v", err)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(closes) != c.closed || c.closed > 0 && !slices.Contains(closes[0], "a") || c.closed > 0 && slices.Contains(closes[0], "b") {
					t.Errorf("it was closed by requests of %q, want %d", closes, c.closed)
				}
				if lines := log.At(slog.LevelWarn); len(lines) != c.closed {
					t.Errorf("got log %q, want %d lines", lines, c.closed)
				}
			})
		})
	}
}

// A Break whose answer is lost is not done a second time: whoever was handed the key keeps it. The
// log says what is not known.
func TestBreakAnswerLost(t *testing.T) {
	t.Parallel()
	for name, wraps := range map[string]bool{"direct": false, "wrapped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lossy(t, func(o *redis.Options) { o.ReadTimeout = world.ReplyTimeout })
			var log check.Log
			l.Client = world.NewClient(t, l.RDB, redislock.WithLogger(slog.New(&log)))
			if wraps {
				l.Client = world.NewClient(t, world.Bare{Scripter: l.RDB}, redislock.WithLogger(slog.New(&log)))
			}
			direct(t, l)
			w := &world.World{RDB: l.Direct, Client: world.NewClient(t, l.Direct), Prefix: l.Key}
			turns := make(chan world.Turn, 1)
			w.Wait(t.Context(), turns, "next", []string{l.Key}, nil)
			w.InLine(t, l.Key, 1)
			check.Must[[]redislock.Holder](t)(l.Client.Break(t.Context(), []string{l.Key + ":free"}, ""))
			tries := 0
			l.On("break", func(n int) {
				if tries = n; n == 1 {
					l.Relay.CutReplies()
				}
			})
			list := check.Must[[]redislock.Holder](t)(l.Client.Break(t.Context(), []string{l.Key}, ""))
			if len(list) != 0 || tries != 2 {
				t.Errorf("got %v broken by %d tries, want nobody, by 2", list, tries)
			}
			lines := log.At(slog.LevelWarn)
			for i, want := range []string{"redislock: locks broken", "redislock: locks broken, the answer that says whose was lost"} {
				if len(lines) != 2 || lines[i] != want {
					t.Errorf("got log %q, want line %d to be %q", lines, i, want)
				}
			}
			check.NoError(t, world.WantTurn(t, turns, "next")[0].Release(t.Context()))
		})
	}
}
