package election_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

var errDone = errors.New("the work is done")

func TestElect(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		key := w.Key("k")
		err := election.Elect(t.Context(), w.Client, key, world.Long, func(ctx context.Context) error {
			lock := redislock.FromContext(ctx)
			if lock.Fence() <= 0 {
				t.Errorf("got number %d, want one", lock.Fence())
			}
			term := leader(t, w)
			if term.ID != election.TermID(ctx) || term.Fence != lock.Fence() || term.Metadata != redislock.InstanceMetadata() {
				t.Errorf("got %v, want term %s, number %d, of this process", term, election.TermID(ctx), lock.Fence())
			}
			return errDone
		})
		if err != errDone { //nolint:errorlint // it is unchanged
			t.Errorf("got %v, want the error of the function", err)
		}
		w.WantFree(t, key)
	})
}

// Whoever leads resigns when its function returns, and those behind it follow in the order of the line.
func TestRunInOrder(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		var all []*runner
		for i, name := range []string{"a", "b", "c"} {
			all = append(all, start(t, candidate(w, name, world.Long)))
			if i > 0 {
				inLine(t, w, i)
			} else {
				first := all[0].elected(t)
				all[0].leads <- first
			}
		}
		before := lead{}
		for i, r := range all {
			l := r.elected(t)
			if l.number <= before.number || l.id == before.id {
				t.Errorf("term %d: got number %d and id %s after %d and %s", i, l.number, l.id, before.number, before.id)
			}
			before = l
			l.finish <- nil
			check.NoError(t, next(t, r.ended, "the end of Run"))
		}
		w.WantFree(t, w.Key("k"))
	})
}

// What is lost is led again, in another term, and what the function has returned is told.
func TestRunAfterLoss(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		r := start(t, candidate(w, "a", time.Second))
		first := r.elected(t)
		check.NoError(t, w.RDB.Del(t.Context(), w.Key("k")).Err())
		next(t, first.ctx.Done(), "the end of the context")
		check.Is(t, context.Cause(first.ctx), redislock.ErrLockLost)
		check.Is(t, next(t, r.lost, "the loss"), redislock.ErrLockLost)
		second := r.elected(t)
		if second.number <= first.number || second.id == first.id {
			t.Errorf("got number %d and id %s after %d and %s", second.number, second.id, first.number, first.id)
		}
		second.finish <- errDone
		check.Is(t, next(t, r.ended, "the end of Run"), errDone)
	})
}

// Whatever the function returns after a loss, the candidate goes on, and the error is told.
func TestRunAfterLossWhateverReturned(t *testing.T) {
	t.Parallel()
	for name, returned := range map[string]error{"nil": nil, "an error": errDone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				var log bytes.Buffer
				c := candidate(w, "a", time.Second)
				c.Logger = slog.New(slog.NewTextHandler(&log, nil))
				runs := 0
				check.NoError(t, c.Run(t.Context(), func(ctx context.Context) error {
					if runs++; runs > 1 {
						return nil
					}
					check.NoError(t, w.RDB.Del(ctx, w.Key("k")).Err())
					<-ctx.Done()
					return returned
				}))
				if runs != 2 {
					t.Errorf("the function was run %d times, want 2", runs)
				}
				if text := log.String(); !strings.Contains(text, "lock lost") || returned != nil && !strings.Contains(text, errDone.Error()) {
					t.Errorf("got log %q, want the loss and %v", text, returned)
				}
			})
		})
	}
}

// A loss that only the resignation finds out is one like any.
func TestRunLostUnnoticed(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		r := start(t, candidate(w, "a", world.Long))
		l := r.elected(t)
		check.NoError(t, w.RDB.Del(t.Context(), w.Key("k")).Err())
		l.finish <- errDone
		check.Is(t, next(t, r.lost, "the loss"), errDone, redislock.ErrLockLost)
		if again := r.elected(t); again.id == l.id || again.number <= l.number {
			t.Errorf("got number %d and id %s after %d and %s", again.number, again.id, l.number, l.id)
		}
	})
}

// An error that says so is none: it may be of another lock.
func TestRunErrorOfAnotherLock(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		err := candidate(w, "a", world.Long).Run(t.Context(), func(context.Context) error { return redislock.ErrLockLost })
		if err != redislock.ErrLockLost { //nolint:errorlint // it is unchanged
			t.Errorf("got %v, want the error of the function", err)
		}
	})
}

func TestRunContextEnds(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		leads := start(t, candidate(w, "a", world.Long))
		l := leads.elected(t)
		waits := start(t, candidate(w, "b", world.Long))
		inLine(t, w, 1)
		waits.stop()
		err := next(t, waits.ended, "the end of Run")
		check.Is(t, err, context.Canceled, redislock.ErrNotObtained)
		if !strings.HasPrefix(err.Error(), "election: redislock: obtain ") {
			t.Errorf("got %q", err)
		}
		leads.stop()
		next(t, l.ctx.Done(), "the end of the context")
		check.Is(t, next(t, leads.ended, "the end of Run"), context.Canceled)
		w.WantFree(t, w.Key("k"))
	})
}

// Also if the lock is lost after that.
func TestRunContextEndsThenLost(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		ctx, cancel := context.WithCancel(t.Context())
		err := candidate(w, "a", time.Second).Run(ctx, func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			check.NoError(t, w.RDB.Del(t.Context(), w.Key("k")).Err())
			time.Sleep(2 * time.Second)
			return errDone
		})
		check.Is(t, err, errDone, redislock.ErrLockLost)
	})
}

// A loss that ends the ctx of Run is that of another lock: this one resigns, and has lost nothing.
func TestRunUnderLockThatIsLost(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx, lose := context.WithCancelCause(t.Context())
		c := candidate(w, "a", world.Long)
		c.Lost = func(_ context.Context, err error) { t.Errorf("got a loss: %v", err) }
		err := c.Run(ctx, func(ctx context.Context) error {
			lose(redislock.ErrLockLost)
			<-ctx.Done()
			return errDone
		})
		if err != errDone { //nolint:errorlint // it is unchanged
			t.Errorf("got %v, want the error of the function", err)
		}
		w.WantFree(t, w.Key("k"))
	})
}

func TestRunPanics(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		defer func() {
			if got := recover(); got != "panic" {
				t.Errorf("got panic %v, want that of the function", got)
			}
			w.WantFree(t, w.Key("k"))
		}()
		_ = candidate(w, "a", world.Long).Run(t.Context(), func(context.Context) error { panic("panic") })
	})
}

// The function may release the lock itself, or leave it.
func TestRunReleasedWithin(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		check.Is(t, candidate(w, "a", world.Long).Run(t.Context(), func(ctx context.Context) error {
			check.NoError(t, redislock.FromContext(ctx).Leave(context.WithoutCancel(ctx), world.Long))
			return errDone
		}), errDone)
		if term := leader(t, w); term.Led {
			t.Errorf("got %v of a key that was left", term)
		}
	})
}

// What is wrong for good ends Run before anything is sent.
func TestRunRefuses(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: nil})
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool { t.Errorf("it sends %v", cmd); return false }})
	client := world.NewClient(t, rdb)
	with := func(rdb redis.Scripter, opt redislock.ClientOption) *election.Candidate {
		return &election.Candidate{Client: world.NewClient(t, rdb, opt), Key: "k", TTL: time.Second}
	}
	fn := func(context.Context) error { t.Error("the function is run"); return nil }
	for name, c := range map[string]struct {
		candidate *election.Candidate
		fn        func(context.Context) error
		want      string
	}{
		"no Candidate":      {nil, fn, "election: there is no Client"},
		"no Client":         {&election.Candidate{Key: "k", TTL: time.Second}, fn, "election: there is no Client"},
		"a Client of nil":   {&election.Candidate{Client: (*redislock.Client)(nil), Key: "k", TTL: time.Second}, fn, "the Client is nil"},
		"an Owner":          {&election.Candidate{Client: client.As("t"), Key: "k", TTL: time.Second}, fn, "the Client is an Owner"},
		"no function":       {&election.Candidate{Client: client, Key: "k", TTL: time.Second}, nil, "election: there is no function to run"},
		"no key":            {&election.Candidate{Client: client, TTL: time.Second}, fn, "invalid keys"},
		"no ttl":            {&election.Candidate{Client: client, Key: "k"}, fn, "invalid ttl"},
		"a negative ttl":    {&election.Candidate{Client: client, Key: "k", TTL: -time.Second}, fn, "invalid ttl"},
		"long metadata":     {&election.Candidate{Client: client, Key: "k", TTL: time.Second, Metadata: strings.Repeat("m", 5000)}, fn, "invalid metadata"},
		"a long name":       {&election.Candidate{Client: client, Key: "k", TTL: time.Second, Name: strings.Repeat("n", 200)}, fn, "invalid Name"},
		"negative replicas": {with(rdb, redislock.WithReplicas(-1)), fn, "invalid WithReplicas"},
		"a negative uptime": {with(rdb, redislock.WithMinUptime(-1)), fn, "invalid WithMinUptime"},
		"a longer ttl than the uptime": {
			with(rdb, redislock.WithMinUptime(time.Millisecond)), fn, "invalid ttl: 1s is longer than the 1ms of WithMinUptime",
		},
		"replicas of a client that cannot wait": {
			with(world.Bare{Scripter: rdb}, redislock.WithReplicas(1)), fn, "unsupported",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := c.candidate.Run(ctx, c.fn)
			if err == nil || !strings.Contains(err.Error(), c.want) || ctx.Err() != nil {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	check.Is(t, election.Elect(t.Context(), client, "k", 0, fn), &redislock.InvalidError{Argument: "ttl"})
}

// A key that is no lock is nobody's to lead with. One that only stands there for a while is waited for.
func TestRunForeignKey(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		key := w.Key("k")
		check.NoError(t, w.RDB.RPush(t.Context(), key, "data").Err())
		err := next(t, start(t, candidate(w, "a", time.Second)).ended, "the end of Run")
		conflict, ok := errors.AsType[*redislock.ConflictError](err)
		if !ok || conflict.Mode != redislock.ModeForeign {
			t.Errorf("got %v, want that the key is foreign", err)
		}
		_, err = election.Leader(t.Context(), key, w.Client)
		if err == nil || !strings.Contains(err.Error(), "holds a list that is no lock") {
			t.Errorf("Leader: got %v, want that the key is foreign", err)
		}
		check.NoError(t, w.RDB.PExpire(t.Context(), key, 300*time.Millisecond).Err())
		start(t, candidate(w, "a", time.Second)).elected(t)
	})
}
