package errors_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A scripted server takes every lock, and then answers as a test says.
type scripted struct {
	world.FakeServer
	asked  atomic.Int64           // scripts that have come
	answer atomic.Pointer[string] // to what comes next; "": there is none
	rdb    *redis.Client
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := new(scripted)
	s.Script = func(run check.Run) string {
		s.asked.Add(1)
		if answer := s.answer.Load(); answer != nil {
			return *answer
		}
		if run.Obtain != nil && run.Can.Fenced {
			return "*2\r\n:1\r\n:7\r\n"
		}
		return ":1\r\n"
	}
	s.rdb = s.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Hour })
	return s
}

// says has the server answer this from now on.
func (s *scripted) says(answer string) { s.answer.Store(&answer) }

// Answers of the server. In bothGone and bGone a and b, or b alone, are not the caller's.
const (
	done      = ":1\r\n"
	bothGone  = "*3\r\n:-1\r\n:1\r\n:2\r\n"
	bGone     = "*2\r\n:-1\r\n:2\r\n"
	overtaken = ":-3\r\n"
	broken    = "-ERR broken\r\n"
	unblocked = "-UNBLOCKED force unblock\r\n"
	loading   = "-LOADING Redis is loading\r\n"
	isRead    = "*5\r\n:0\r\n:1\r\n$4\r\nread\r\n:60000\r\n$0\r\n\r\n"
)

// An operation is something that a lock of the keys a and b is asked for, and that may fail.
type operation struct {
	name string
	do   func(ctx context.Context, s *scripted, lock *redislock.Lock) error
}

// onLock is an operation that asks for one thing.
func onLock(name string, do func(lock *redislock.Lock, ctx context.Context) error) operation {
	return operation{name, func(ctx context.Context, _ *scripted, lock *redislock.Lock) error { return do(lock, ctx) }}
}

func operations() []operation {
	return []operation{
		onLock("TTL", func(lock *redislock.Lock, ctx context.Context) error { _, err := lock.TTL(ctx); return err }),
		onLock("Refresh longer", func(lock *redislock.Lock, ctx context.Context) error { return lock.Refresh(ctx, time.Hour) }),
		onLock("Refresh shorter", func(lock *redislock.Lock, ctx context.Context) error { return lock.Refresh(ctx, 30*time.Second) }),
		onLock("Downgrade", (*redislock.Lock).Downgrade),
		onLock("Upgrade", (*redislock.Lock).Upgrade),
		onLock("RaiseFence", func(lock *redislock.Lock, ctx context.Context) error { return lock.RaiseFence(ctx, 9) }),
		onLock("ReleaseKeys", func(lock *redislock.Lock, ctx context.Context) error { return lock.ReleaseKeys(ctx, []string{"b"}) }),
		onLock("Release", (*redislock.Lock).Release),
		onLock("Leave", func(lock *redislock.Lock, ctx context.Context) error { return lock.Leave(ctx, time.Hour) }),
		{"Release, and again when both keys are gone", func(ctx context.Context, s *scripted, lock *redislock.Lock) error {
			first := lock.Release(ctx)
			synctest.Wait()
			s.says(bothGone)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			return fmt.Errorf("%v; again: %v", first, lock.Release(ctx)) //nolint:errorlint // one of them may be nil
		}},
	}
}

// A situation is what an operation meets.
type situation struct {
	name    string
	answer  string // of the server
	ended   bool   // the context has
	prepare func(t *testing.T, s *scripted, lock *redislock.Lock)
}

func situations() []situation {
	return []situation{
		{name: "the server refuses it", answer: broken},
		{name: "the server is not ready", answer: loading},
		{name: "it may have been executed", answer: unblocked},
		{name: "no answer", answer: ""},
		{name: "a key is gone", answer: bGone},
		{name: "both keys are gone", answer: bothGone},
		{name: "overtaken for ever", answer: overtaken},
		{name: "another reply", answer: "+what\r\n"},
		{name: "somebody reads", answer: isRead},
		{name: "done", answer: done},
		{name: "done, the context has ended", answer: done, ended: true},
		{name: "no answer, the context has ended", answer: "", ended: true},
		{name: "released", answer: done, prepare: func(t *testing.T, _ *scripted, lock *redislock.Lock) {
			t.Helper()
			check.NoError(t, lock.Release(t.Context()))
		}},
		{name: "lost", answer: bothGone, prepare: func(t *testing.T, s *scripted, lock *redislock.Lock) {
			t.Helper()
			s.says(bGone)
			check.Is(t, lock.Refresh(t.Context(), time.Hour), redislock.ErrLockNotHeld)
		}},
		{name: "a Refresh is under way", answer: done, prepare: func(t *testing.T, s *scripted, lock *redislock.Lock) {
			t.Helper()
			s.says("")
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			go func() {
				defer cancel()
				check.Is(t, lock.Refresh(ctx, time.Minute), redislock.ErrUnknownOutcome)
			}()
			synctest.Wait()
		}},
		{name: "the Redis client is closed", answer: done, prepare: func(t *testing.T, s *scripted, _ *redislock.Lock) {
			t.Helper()
			check.NoError(t, s.rdb.Close())
		}},
	}
}

// meets has a lock of its own meet a situation in an operation. It returns the error, how long that took, how many requests were sent for
// it, at once or later, and for how long the lock was certain from the beginning.
func meets(t *testing.T, opt *redislock.Options, with redislock.ClientOption, c situation, op operation) (line string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		client := world.NewClient(t, s.rdb, redislock.WithKeyPrefix("p:"), with)
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a", "b"}, time.Minute, opt))
		if c.prepare != nil {
			c.prepare(t, s, lock)
		}
		s.says(c.answer)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if c.ended {
			cancel()
		}
		began, before := time.Now(), s.asked.Load()
		err := op.do(ctx, s, lock)
		took, left := time.Since(began), lock.Deadline().Sub(began)
		time.Sleep(time.Hour) // all that is to be done later is done
		line = fmt.Sprintf("\t%s: %v\n\t\tafter %v, %d sent, certain for %v\n", op.name, err, took, s.asked.Load()-before, left)
		s.says(broken)
	})
	return line
}

// Each error of a lock says what was to be done with which keys, and what has become of it. It comes without delay: a second is the time of
// the caller, and a little more the patience with an answer. What is not known to be done is done later, and the lock is certain for as long
// as it has its keys, whatever was done.
func TestEachErrorOfALock(t *testing.T) {
	t.Parallel()
	watched := redislock.WithHooks(redislock.Hooks{Lost: func(context.Context, redislock.Event) {}})
	for name, kind := range map[string]struct {
		file string
		opt  *redislock.Options
		with redislock.ClientOption
	}{
		"the short way": {"lock.txt", nil, nil},
		"the long way":  {"lock.txt", nil, watched},
		"fenced":        {"lock_fenced.txt", world.Fenced(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, c := range situations() {
				fmt.Fprintf(&b, "%s\n", c.name)
				for _, op := range operations() {
					b.WriteString(meets(t, kind.opt, kind.with, c, op))
				}
			}
			file := filepath.Join("testdata", kind.file)
			if os.Getenv("UPDATE_ERRORS") != "" {
				check.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
			}
			want := check.Must[[]byte](t)(os.ReadFile(file))
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s\nIf that is as it is to be:\n\n"+
					"    UPDATE_ERRORS=1 go test -run '^TestEachErrorOfALock$' ./proof/test/errors\n\nwrites proof/test/errors/testdata anew.", diff)
			}
		})
	}
}
