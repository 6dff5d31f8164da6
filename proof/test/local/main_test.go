// Package local_test has the tests of Obtains of one Client that wait behind one another, of Releases that give their keys to
// the next of them, and of holds that are passed on.
package local_test

import (
	"context"
	"maps"
	"slices"
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

func TestMain(m *testing.M) { redistest.Main(m) }

// A scene is a Client, another one of the same server, and Obtains that wait.
type scene struct {
	*world.World
	t     *testing.T
	other *redislock.Client
	keys  []string
	turns chan world.Turn
	sent  atomic.Int64 // scripts of both
}

// play runs a scene in virtual time.
func play(t *testing.T, fn func(t *testing.T, s *scene)) {
	t.Helper()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		s := &scene{World: w, t: t, keys: w.Keys("k"), turns: make(chan world.Turn, 100)}
		rdb := mini.Client(t)
		s.other = world.NewClient(t, rdb)
		for _, rdb := range []*redis.Client{w.RDB, rdb} {
			rdb.AddHook(check.Around{Before: func(cmd redis.Cmder) {
				if check.RunIn(cmd).Script != "" {
					s.sent.Add(1)
				}
			}})
		}
		fn(t, s)
	})
}

// options are those of an Obtain that queues, with the name of who asks.
func options(who string) *redislock.Options { return &redislock.Options{Queue: true, Metadata: who} }

// every is how long one waits that polls.
const every = time.Second

// polls are its options.
func polls(who string) *redislock.Options {
	return &redislock.Options{RetryStrategy: redislock.LinearBackoff(every), Metadata: who}
}

// inEachWay runs a test for Obtains that queue, and for those that poll.
func inEachWay(t *testing.T, name string, fn func(t *testing.T, s *scene, options func(who string) *redislock.Options)) {
	t.Helper()
	for way, options := range map[string]func(string) *redislock.Options{"queue": options, "poll": polls} {
		t.Run(name+", "+way, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) { fn(t, s, options) })
		})
	}
}

// An obtainer is a way to obtain the keys of a scene.
type obtainer func(ctx context.Context, s *scene, opt *redislock.Options) (*redislock.Lock, error)

// byThemselves are the ways in which no Obtain waits for others of its Client, and more.
func byThemselves(more map[string]obtainer) map[string]obtainer {
	all := map[string]obtainer{
		"a token of its own": func(ctx context.Context, s *scene, opt *redislock.Options) (*redislock.Lock, error) {
			return s.Client.As("token-"+opt.Metadata).Obtain(ctx, s.keys, world.Long, opt)
		},
		"a caller's id": func(ctx context.Context, s *scene, opt *redislock.Options) (*redislock.Lock, error) {
			return s.Client.Obtain(redislock.WithCaller(ctx, "id"), s.keys, world.Long, opt)
		},
		"readers": func(ctx context.Context, s *scene, opt *redislock.Options) (*redislock.Lock, error) {
			return s.Client.ObtainRead(ctx, s.keys, world.Long, opt)
		},
		"a step of a larger Obtain": func(ctx context.Context, s *scene, opt *redislock.Options) (*redislock.Lock, error) {
			return s.Client.Obtain(world.Apart(ctx), s.keys, world.Long, opt)
		},
	}
	maps.Copy(all, more)
	return all
}

// obtain takes the keys at once.
func (s *scene) obtain(client *redislock.Client, opt *redislock.Options) *redislock.Lock {
	s.t.Helper()
	return check.Must[*redislock.Lock](s.t)(client.Obtain(s.t.Context(), s.keys, world.Long, opt))
}

// waits has somebody wait, and comes back when nothing moves any more.
func (s *scene) waits(ctx context.Context, client *redislock.Client, opt *redislock.Options) {
	go func() {
		lock, err := client.Obtain(ctx, s.keys, world.Long, opt)
		s.turns <- world.Turn{Who: opt.Metadata, Lock: lock, Err: err}
	}()
	time.Sleep(time.Millisecond)
	synctest.Wait()
}

// wants checks whose turn it is, and returns the lock.
func (s *scene) wants(who string) *redislock.Lock {
	s.t.Helper()
	return world.WantTurn(s.t, s.turns, who)[0]
}

// ends is the outcome of who gives up.
func (s *scene) ends(who string) error {
	s.t.Helper()
	got := <-s.turns
	if got.Who != who || got.Err == nil {
		s.t.Fatalf("%s has ended with %v, want %s with an error", got.Who, got.Err, who)
	}
	return got.Err
}

// release ends a lock, and checks how many scripts were sent until nothing moves any more.
func (s *scene) release(lock *redislock.Lock, scripts int64) {
	s.t.Helper()
	before := s.sent.Load()
	check.NoError(s.t, lock.Release(s.t.Context()))
	synctest.Wait()
	if got := s.sent.Load() - before; got != scripts {
		s.t.Errorf("the release took %d scripts, want %d", got, scripts)
	}
}

// line is who stands in line in Redis.
func (s *scene) line() (who []string) {
	s.t.Helper()
	for _, w := range check.Must[[]redislock.KeyState](s.t)(s.other.Inspect(s.t.Context(), s.keys[:1]))[0].Line {
		who = append(who, w.Metadata)
	}
	return who
}

// wantLine checks who stands in line in Redis.
func (s *scene) wantLine(who ...string) {
	s.t.Helper()
	if got := s.line(); !slices.Equal(got, who) {
		s.t.Errorf("in line: %q, want %q", got, who)
	}
}
