package redislockotel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// An answer is an error of the server.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

// Each error has one type, and is the server's or not, whichever operation has it.
func TestErrorTypes(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancelCause(context.Background())
	errLeft := errors.New("the caller has left")
	cancel(errLeft)
	late, stop := context.WithDeadline(context.Background(), time.Now())
	defer stop()
	background := context.Background()
	refusal := func(mode redislock.Mode) error { return &redislock.ConflictError{Key: "a", Mode: mode} }
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name    string
		ctx     context.Context
		err     error
		want    string
		servers bool
	}{
		{"write", background, refusal(redislock.ModeWrite), "conflict", false},
		{"read", background, refusal(redislock.ModeRead), "conflict", false},
		{"intent", background, refusal(redislock.ModeIntent), "conflict", false},
		{"queue", background, refusal(redislock.ModeQueue), "conflict", false},
		{"foreign", background, refusal(redislock.ModeForeign), "foreign", false},
		{"restarted", background, refusal(redislock.ModeRestarted), "restarted", false},
		{"left", background, &redislock.ConflictError{Key: "a", Mode: redislock.ModeWrite, Left: true}, "left", false},
		{"wait over", background, wrap(redislock.ErrWaitOver, refusal(redislock.ModeWrite)), "wait_over", false},
		{"wait over, silent server", background, wrap(redislock.ErrWaitOver, redislock.ErrUnknownOutcome), "unknown_outcome", true},
		{"wait over, bad server", background, wrap(redislock.ErrWaitOver, answer("LOADING Redis is loading")), "LOADING", true},
		{"left by the caller", canceled, wrap(refusal(redislock.ModeWrite), errLeft), "canceled", false},
		{"left by the caller at once", canceled, wrap(errLeft), "canceled", false},
		{"left under way", canceled, wrap(redislock.ErrUnknownOutcome, errLeft), "unknown_outcome", false},
		{"left before", canceled, wrap(dial), "connection", true},
		{"deadline", late, wrap(refusal(redislock.ModeWrite), context.DeadlineExceeded), "deadline_exceeded", false},
		{"too late", background, wrap(redislock.ErrNotObtained), "too_late", true},
		{"no answer", background, wrap(redislock.ErrUnknownOutcome, os.ErrDeadlineExceeded), "unknown_outcome", true},
		{"replicas", background, wrap(redislock.ErrNotReplicated, redislock.ErrNotObtained), "not_replicated", true},
		{"replicas, unknown", background, wrap(redislock.ErrNotReplicated, redislock.ErrUnknownOutcome), "unknown_outcome", true},
		{"memory", background, wrap(answer("OOM command not allowed")), "OOM", true},
		{"rights", background, wrap(answer("NOPERM no rights")), "NOPERM", true},
		{"script", background, wrap(answer("ERR something else")), "ERR", true},
		{"word", background, wrap(answer("K7H2 is no code")), "ERR", true},
		{"time-out", background, wrap(&net.DNSError{IsTimeout: true}), "timeout", true},
		{"pool", background, wrap(redis.ErrPoolTimeout), "timeout", true},
		{"dial", background, wrap(dial), "connection", true},
		{"end", background, wrap(io.EOF), "connection", true},
		{"breaker", background, wrap(errors.New("the breaker is open")), "_OTHER", true},
		{"closed", background, wrap(redis.ErrClosed), "closed", false},
		{"not held", background, wrap(redislock.ErrLockNotHeld), "not_held", false},
		{"broken", background, wrap(redislock.ErrLockNotHeld, redislock.ErrBroken), "broken", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMeter(t)
			e := redislock.Event{ID: 1, Name: "n", Mode: redislock.ModeWrite, Way: "once", Err: c.err}
			m.hooks.Refused(c.ctx, e)
			m.hooks.Refreshed(c.ctx, e)
			m.hooks.Released(c.ctx, e)
			want := []string{"refused{" + c.want + " write n once} 1"}
			for _, operation := range []string{"obtain", "refresh", "release"} {
				if c.servers {
					want = append(want, "server.errors{"+c.want+" "+operation+"} 1")
				}
			}
			m.want(t, want...)
		})
	}
}

func wrap(errs ...error) error { return fmt.Errorf("redislock: obtain: %w", errors.Join(errs...)) }

// A Release of which nobody knows what has come ends the lock on this side.
func TestReleasedPerhaps(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	e := redislock.Event{ID: 1, Name: "n", Mode: redislock.ModeWrite, Way: "once"}
	m.hooks.Obtained(t.Context(), e)
	e.Err, e.Ended, e.Held = wrap(redislock.ErrUnknownOutcome), true, time.Second
	m.hooks.Released(t.Context(), e)
	e.Err = nil
	m.hooks.Released(t.Context(), e)
	m.want(t, "obtained{write n once} 1", "released{unknown_outcome write n once} 1",
		"hold.duration{unknown_outcome write n once} 1 in 1s", "server.errors{unknown_outcome release} 1")
}

// What the server refuses is counted once for each operation that has failed.
func TestServerErrors(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, time.Hour, watched)
		s.mini.Miniredis().SetError("NOAUTH Authentication required.")
		_, err := s.client.Obtain(t.Context(), []string{"b"}, time.Hour, nil)
		wantError(t, err)
		wantError(t, lock.Refresh(t.Context(), time.Hour))
		wantError(t, lock.Release(t.Context()))
		s.want(t, "obtained{write n once} 1", "refused{NOAUTH write once} 1", "server.errors{NOAUTH obtain} 1",
			"server.errors{NOAUTH refresh} 1", "server.errors{NOAUTH release} 1",
			"released{NOAUTH write n once} 1", "hold.duration{NOAUTH write n once} 1 in 0s")
		s.mini.Miniredis().SetError("")
		_, err = s.client.Obtain(t.Context(), nil, time.Hour, nil) // refused before anybody is asked
		check.Is(t, err, &redislock.InvalidError{Argument: "keys"})
		check.NoError(t, lock.Release(t.Context()))
		s.want(t, "obtained{write n once} 1", "refused{NOAUTH write once} 1", "server.errors{NOAUTH obtain} 1",
			"server.errors{NOAUTH refresh} 1", "server.errors{NOAUTH release} 1",
			"released{NOAUTH write n once} 1", "hold.duration{NOAUTH write n once} 1 in 0s")
	})
}

func wantError(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("there is no error")
	}
}
