package errors_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An inTurn server gives its answers one after the other, each after some time, and then says that all was done.
type inTurn struct {
	world.FakeServer
	mu      sync.Mutex
	answers []late
	client  *redislock.Client
	lock    *redislock.Lock // of the keys a and b, for a minute
}

// late is an answer that takes so long.
type late struct {
	after time.Duration
	reply string
}

func newInTurn(t *testing.T, opt *redislock.Options, mod func(*redis.Options), with ...redislock.ClientOption) *inTurn {
	t.Helper()
	s := new(inTurn)
	s.Wait = ":9\r\n"
	s.Script = func(check.Run) string {
		s.mu.Lock()
		next := late{0, done}
		if len(s.answers) > 0 {
			next, s.answers = s.answers[0], s.answers[1:]
		}
		s.mu.Unlock()
		time.Sleep(next.after)
		return next.reply
	}
	if opt != nil && opt.Fenced {
		s.says(late{0, "*2\r\n:1\r\n:7\r\n"})
	}
	s.client = world.NewClient(t, s.Client(t, func(o *redis.Options) {
		if o.ReadTimeout = 24 * time.Hour; mod != nil {
			mod(o)
		}
	}), with...)
	s.lock = check.Must[*redislock.Lock](t)(s.client.Obtain(t.Context(), []string{"a", "b"}, time.Minute, opt))
	return s
}

func (s *inTurn) says(answers ...late) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = answers
}

// atOnce runs functions one after the other, each as soon as all before wait, and returns what each has ended with.
func atOnce(fns ...func() error) (errs []any) {
	errs = make([]any, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Go(func() { errs[i] = fn() })
		synctest.Wait()
	}
	wg.Wait()
	return errs
}

// A story is what happens to a lock, and what its callers are told in the end.
type story struct {
	name string
	tell func(ctx context.Context, t *testing.T) []any
	want string
}

func tell(t *testing.T, stories []story) {
	t.Helper()
	for _, c := range stories {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				for _, told := range c.tell(t.Context(), t) {
					got = append(got, fmt.Sprint(told))
				}
				if diff := cmp.Diff(strings.Split(strings.Trim(c.want, "\n"), "\n"), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				time.Sleep(48 * time.Hour) // until all answers have come
			})
		})
	}
}

// storiesOfLoss are of locks that end while an answer is awaited.
func storiesOfLoss() []story {
	refresh := func(ctx context.Context, s *inTurn, ttl time.Duration) func() error {
		return func() error { return s.lock.Refresh(ctx, ttl) }
	}
	return []story{
		{"lost, and refused", func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, world.Fenced(), nil)
			s.says(late{time.Second, broken}, late{0, bGone})
			return atOnce(refresh(ctx, s, time.Hour), func() error { return s.lock.RaiseFence(ctx, 9) })
		}, `
redislock: refresh "a" and 1 more: ERR broken: lock not held: it was lost
redislock: raise fence "a" and 1 more: lock not held: lost "b"
`},
		{"lost, and perhaps executed", func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, world.Fenced(), nil)
			s.says(late{time.Second, unblocked}, late{0, bGone})
			return atOnce(refresh(ctx, s, time.Hour), func() error { return s.lock.RaiseFence(ctx, 9) })
		}, `
redislock: refresh "a" and 1 more: outcome not known: UNBLOCKED force unblock
redislock: raise fence "a" and 1 more: lock not held: lost "b"
`},
		{"released, and overtaken", func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, nil, nil)
			s.says(late{time.Second, overtaken}, late{0, done})
			return atOnce(refresh(ctx, s, time.Hour), func() error { return s.lock.Release(ctx) })
		}, `
redislock: refresh "a" and 1 more: lock not held: it was released already
<nil>
`},
		{"answered after the new lease", func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, nil, nil)
			lost := s.lock.Lost()
			s.says(late{2 * time.Second, done})
			first := s.lock.Refresh(ctx, time.Second)
			<-lost
			return []any{first, s.lock.Refresh(ctx, time.Second), context.Cause(s.lock.Context(ctx))}
		}, `
redislock: refresh "a" and 1 more: lock not held: it was lost
redislock: refresh "a" and 1 more: lock not held: it was lost
lock lost
`},
		{"answered after the new lease, nobody watches", func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, nil, nil)
			s.says(late{2 * time.Second, done})
			return []any{s.lock.Refresh(ctx, time.Second), s.lock.Refresh(ctx, time.Second), s.lock}
		}, `
redislock: refresh "a" and 1 more: lock not held: the answer came after the new lease had ended
redislock: refresh "a" and 1 more: lock not held: it was lost
write "a", "b", lost
`},
	}
}

// storiesOfReleases are of locks that are released while an answer is awaited.
func storiesOfReleases() []story {
	return []story{
		{"a key was freed, and then there is no answer", func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, nil, nil)
			s.says(late{time.Second, bGone}, late{0, done}, late{time.Hour, done})
			began := time.Now()
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			errs := atOnce(func() error { _, err := s.lock.TTL(ctx); return err }, func() error { return s.lock.ReleaseKeys(ctx, []string{"b"}) })
			return append(errs, time.Since(began))
		}, `
redislock: ttl "a": outcome not known: context deadline exceeded
<nil>
2s
`},
		{"released twice at once", func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, nil, nil)
			_ = s.lock.Token() // now there is no short way
			s.says(late{time.Second, done}, late{2 * time.Second, bothGone})
			release := func() error { return s.lock.Release(ctx) }
			return atOnce(release, release)
		}, `
<nil>
redislock: release "a" and 1 more: lock not held: it was released already
`},
		{"released twice at once, the short way first", func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, nil, nil)
			s.says(late{2 * time.Second, bothGone}, late{time.Second, done})
			release := func() error { return s.lock.Release(ctx) }
			return atOnce(release, release)
		}, `
redislock: release "a" and 1 more: lock not held: it was released already
<nil>
`},
		{"released twice at once, and gone", func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, nil, nil)
			s.says(late{2 * time.Second, bothGone}, late{time.Second, bGone})
			release := func() error { return s.lock.Release(ctx) }
			return atOnce(release, release)
		}, `
redislock: release "a" and 1 more: lock not held: lost "b"
redislock: release "a" and 1 more: lock not held: lost "b"
`},
		{"perhaps released before the deadline, by the first of two tries", func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, nil, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = 70*time.Second, 1 })
			s.says(late{24 * time.Hour, done}, late{0, loading}, late{0, bothGone}, late{0, bothGone}, late{0, bothGone})
			return []any{s.lock.Release(ctx), s.lock.Release(ctx)}
		}, `
redislock: release "a" and 1 more: outcome not known: LOADING Redis is loading
<nil>
`},
	}
}

// Whoever waits for an answer is told what has become of the lock meanwhile.
func TestToldWhatHasHappenedMeanwhile(t *testing.T) {
	t.Parallel()
	tell(t, append(storiesOfLoss(), storiesOfReleases()...))
}

// Replicas that do not have what was asked for are told of, and so is a server that does not say whether they have it.
func TestToldOfReplicas(t *testing.T) {
	t.Parallel()
	var stories []story
	for _, c := range []struct{ name, wait, want string }{
		{"too few", ":1\r\n", `
redislock: refresh "a" and 1 more: outcome not known: not replicated: 1 of 2 replicas acknowledged within 1s
redislock: downgrade "a" and 1 more: outcome not known: not replicated: 1 of 2 replicas acknowledged within 1s
redislock: raise fence "a" and 1 more: outcome not known: not replicated: 1 of 2 replicas acknowledged within 1s
redislock: refresh "a" and 1 more: lock not held: lost "a", "b"
<nil>
`},
		{"not said", "-NOPERM no right to wait\r\n", `
redislock: refresh "a" and 1 more: outcome not known: NOPERM no right to wait
redislock: downgrade "a" and 1 more: outcome not known: NOPERM no right to wait
redislock: raise fence "a" and 1 more: outcome not known: NOPERM no right to wait
redislock: refresh "a" and 1 more: outcome not known: NOPERM no right to wait
<nil>
`},
		{"an error", "-ERR broken\r\n", `
redislock: refresh "a" and 1 more: outcome not known: ERR broken
redislock: downgrade "a" and 1 more: outcome not known: ERR broken
redislock: raise fence "a" and 1 more: outcome not known: ERR broken
redislock: refresh "a" and 1 more: outcome not known: ERR broken
<nil>
`},
	} {
		stories = append(stories, story{c.name, func(ctx context.Context, t *testing.T) []any {
			t.Helper()
			s := newInTurn(t, world.Fenced(), nil, redislock.WithReplicas(2))
			s.Wait = c.wait
			s.says(late{0, done}, late{0, "*2\r\n:1\r\n:7\r\n"}, late{0, done}, late{0, bothGone})
			return []any{
				s.lock.Refresh(ctx, time.Hour), s.lock.Downgrade(ctx), s.lock.RaiseFence(ctx, 9), s.lock.Refresh(ctx, time.Hour), s.lock.Release(ctx),
			}
		}, c.want})
	}
	tell(t, stories)
}
