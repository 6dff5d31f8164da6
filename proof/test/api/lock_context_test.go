package api_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// callers is a hook of a Redis client that notes which scripts are run, and by whom.
type callers struct {
	mu    sync.Mutex
	lines []string
}

// DialHook lets connections pass.
func (*callers) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook notes a script.
func (c *callers) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.note(ctx, cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook notes several scripts.
func (c *callers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.note(ctx, cmd)
		}
		return next(ctx, cmds)
	}
}

func (c *callers) note(ctx context.Context, cmd redis.Cmder) {
	if run := check.RunIn(cmd); run.Script != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lines = append(c.lines, run.Script+" by "+check.PageOf(ctx))
	}
}

// The hooks of a Redis client, such as those that trace, find in the context of a request what its caller has put there.
func TestRedisKnowsTheCaller(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartMini(t).Client(t)
	client := world.NewClient(t, rdb)
	warmUp(t, client)
	seen := new(callers)
	rdb.AddHook(seen)
	obtain := func(who string, opt *redislock.Options) *redislock.Lock {
		return check.Must[*redislock.Lock](t)(client.Obtain(check.OnPage(t.Context(), who), []string{"a", "b"}, time.Minute, opt))
	}
	check.NoError(t, obtain("the short way", nil).Release(check.OnPage(t.Context(), "the short way back")))
	lock := obtain("the long way", world.Fenced())
	ttl := check.Must[time.Duration](t)(lock.TTL(check.OnPage(t.Context(), "TTL")))
	check.NoError(t, lock.Refresh(check.OnPage(t.Context(), "Refresh"), ttl))
	check.NoError(t, lock.Downgrade(check.OnPage(t.Context(), "Downgrade")))
	check.NoError(t, lock.Upgrade(check.OnPage(t.Context(), "Upgrade")))
	check.NoError(t, lock.RaiseFence(check.OnPage(t.Context(), "RaiseFence"), lock.Fence()+1))
	check.NoError(t, lock.ReleaseKeys(check.OnPage(t.Context(), "ReleaseKeys of one"), []string{"a"}))
	check.NoError(t, lock.ReleaseKeys(check.OnPage(t.Context(), "ReleaseKeys of the rest"), []string{"b"}))
	check.NoError(t, obtain("the short way", nil).Leave(check.OnPage(t.Context(), "Leave"), time.Millisecond))
	want := []string{
		"obtain by the short way", "release by the short way back", "rw by the long way", "pttl by TTL", "refresh by Refresh",
		"convert by Downgrade", "convert by Upgrade", "raise by RaiseFence", "release by ReleaseKeys of one",
		"release by ReleaseKeys of the rest", "obtain by the short way", "release by Leave",
	}
	if diff := cmp.Diff(want, seen.lines); diff != "" {
		t.Errorf("scripts (-want +got):\n%s", diff)
	}
}

// A context of a lock that has ended has what the context has from which it comes, and says how the lock has ended.
func TestContextOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	mini := redistest.StartMini(t)
	client := world.NewClient(t, mini.Client(t))
	obtain := func(key string) *redislock.Lock {
		return check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, time.Minute, nil))
	}
	released, lost := obtain("a"), obtain("b")
	check.NoError(t, released.Release(t.Context()))
	mini.Miniredis().Del("b")
	check.Is(t, lost.Refresh(t.Context(), time.Minute), redislock.ErrLockNotHeld)
	for _, c := range []struct {
		lock  *redislock.Lock
		cause error
	}{{released, context.Canceled}, {lost, redislock.ErrLockLost}, {&redislock.Lock{}, redislock.ErrLockNotHeld}} {
		ctx := c.lock.Context(check.OnPage(t.Context(), "me"))
		if !world.IsDone(ctx) || check.PageOf(ctx) != "me" || redislock.FromContext(ctx) != c.lock {
			t.Errorf("%v: it has ended: %t, it is of %v and of lock %v", c.lock, world.IsDone(ctx), check.PageOf(ctx), redislock.FromContext(ctx))
		}
		check.Is(t, context.Cause(ctx), c.cause)
	}
}

// What is logged of a loss names the keys and the reason, once. Nobody who does not watch a lock is told of it when its Release finds that
// out: the Release says it.
func TestLogSaysAllOfALoss(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		var text bytes.Buffer
		client := redislock.New(mini.Client(t), redislock.WithKeyPrefix("p:"), redislock.WithLogger(slog.New(slog.NewTextHandler(&text,
			&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}}))))
		obtain := func(opt *redislock.Options) *redislock.Lock {
			return check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a", "b"}, time.Minute, opt))
		}
		for _, opt := range []*redislock.Options{nil, world.Watched} {
			lock := obtain(opt)
			mini.Miniredis().Del("p:a")
			check.Is(t, lock.ReleaseKeys(t.Context(), []string{"a"}), redislock.ErrLockNotHeld)
			mini.Miniredis().Del("p:b")
			check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		}
		lock := obtain(world.Watched)
		mini.Miniredis().Del("p:b")
		<-lock.Lost()
		synctest.Wait() // it is logged
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		unwatched := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"c"}, time.Minute, nil))
		lost := obtain(world.Watched).Lost()
		client.Close()
		<-lost
		synctest.Wait()
		<-unwatched.Context(t.Context()).Done() // nobody would watch it
		synctest.Wait()
		if diff := cmp.Diff(strings.Split(strings.Trim(logOfALoss, "\n"), "\n"), strings.Split(strings.TrimSpace(text.String()), "\n")); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

const logOfALoss = `
level=WARN msg="redislock: lock lost" keys=[a] error="redislock: release \"a\": lock not held: lost \"a\""
level=WARN msg="redislock: lock lost" keys=[b] error="redislock: release \"b\": lock not held: lost \"b\""
level=WARN msg="redislock: lock lost" keys="[a b]" error="redislock: lock lost: \"b\""
level=INFO msg="redislock: client closed, lock left to its ttl" keys="[a b]"
level=INFO msg="redislock: client closed, lock left to its ttl" keys=[c]
`
