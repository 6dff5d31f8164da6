package wrapped_test

import (
	"context"
	"crypto/fips140"
	"errors"
	"fmt"
	"io"
	"slices"
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

// A fault is what becomes of one command.
type fault int

const (
	none  fault = iota
	early       // it is not sent
	lost        // it is executed, and its answer is lost
)

// A chaos client embeds one of go-redis and spoils commands in turn; what is left over is as it was.
type chaos struct {
	*redis.Client
	mu     sync.Mutex
	faults []fault
}

func (c *chaos) next() (f fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) > 0 {
		f, c.faults = c.faults[0], c.faults[1:]
	}
	return f
}

// spoil says what becomes of the next commands.
func (c *chaos) spoil(faults ...fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = faults
}

func (c *chaos) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.faults)
}

func (c *chaos) do(ctx context.Context, send func() *redis.Cmd) *redis.Cmd {
	f := c.next()
	cmd := redis.NewCmd(ctx)
	if f != early {
		cmd = send()
	}
	if f != none {
		cmd.SetErr(fmt.Errorf("chaos: %w", io.ErrUnexpectedEOF))
	}
	return cmd
}

func (c *chaos) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.do(ctx, func() *redis.Cmd { return c.Client.Eval(ctx, script, keys, args...) })
}

func (c *chaos) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return c.do(ctx, func() *redis.Cmd { return c.Client.EvalSha(ctx, sha, keys, args...) })
}

// Whatever a wrapper does to commands, what is said of the lock is right.
func TestWrappedChaos(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		c := &chaos{Client: b.Client(t)}
		client, ctx, key := world.NewClient(t, c), t.Context(), world.NewName(t)+"k"
		check.NoError(t, world.Cycle(ctx, client, key)) // the server knows the scripts
		obtain := func() *redislock.Lock {
			t.Helper()
			return check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{key}, world.Long, nil))
		}
		free := func() bool { return c.Exists(ctx, key).Val() == 0 }
		for _, f := range []fault{early, lost} {
			c.spoil(f)
			lock := obtain()
			c.spoil(f)
			check.NoError(t, lock.Refresh(ctx, world.Long))
			c.spoil(f)
			_ = check.Must[time.Duration](t)(lock.TTL(ctx))
			c.spoil(f)
			check.NoError(t, lock.Release(ctx)) // which finds nothing after an answer that was lost
			if !free() || c.left() > 0 {
				t.Errorf("fault %d: the key is locked after its release, or %d commands were not sent", f, c.left())
			}
		}

		c.spoil(slices.Repeat([]fault{lost}, 40)...) // also of what is still cleared up
		_, err := client.Obtain(ctx, []string{key}, world.Long, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome, io.ErrUnexpectedEOF)
		check.Eventually(t, world.Polled, "what it may have locked is free", free)

		c.spoil()
		lock := obtain()
		c.spoil(slices.Repeat([]fault{early}, 40)...)
		check.Is(t, lock.Release(ctx), redislock.ErrUnknownOutcome)
		c.spoil()
		check.Eventually(t, world.Polled, "it is released in the background", free)
		lock = obtain()
		check.NoError(t, c.Set(ctx, key, "somebody", world.Long).Err())
		check.Is(t, lock.Release(ctx), redislock.ErrLockNotHeld)
	})
}

// A looking client notes the arguments that it is given.
type looking struct {
	redis.Scripter
	see func(arg any)
}

func (l looking) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	for _, arg := range args {
		l.see(arg)
	}
	return l.Scripter.EvalSha(ctx, sha, keys, args...)
}

// A wrapper is given what any user of a Redis client gives: texts and numbers.
func TestWrappedArguments(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartMini(t).Client(t)
	see := func(arg any) {
		switch arg.(type) {
		case string, int, int64:
		default:
			t.Errorf("the wrapper was given a %T", arg)
		}
	}
	for _, opts := range [][]redislock.ClientOption{nil, {redislock.WithWrapped(rdb)}} {
		client := world.NewClient(t, looking{rdb, see}, opts...)
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				if err := world.Cycle(t.Context(), client, fmt.Sprint(t.Name(), i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// The client that a wrapper wraps may send a command again, and in the end say that it could not be sent. What the tries
// before have done is not known.
func TestWrappedClientSendsAgain(t *testing.T) {
	t.Parallel()
	l := world.NewLossy(t, func(o *redis.Options) {
		world.Persistent(o)
		o.DialerRetries = 1
	})
	client := world.NewClient(t, struct{ *redis.Client }{l.RDB})
	l.On("obtain", func(n int) {
		if n == 1 {
			l.Relay.CutReplies()
			l.Relay.Refuse(true)
		}
	})
	_, err := client.Obtain(t.Context(), []string{l.Key}, world.Long, nil)
	check.Is(t, err, redislock.ErrUnknownOutcome)
	if !l.Locked(t) {
		t.Fatal("the request was not executed")
	}
	l.Relay.Refuse(false)
	l.Freed(t)
}

// A lagging client sends again for a while by itself: it returns that the connection is broken, and the command
// reaches the server after that.
type lagging struct {
	*redis.Client
	takes, arrives time.Duration // of the commands that fail, and of the last of them until it arrives
	fails          atomic.Int64  // how many more
	over           chan error
}

func (s *lagging) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	left := s.fails.Add(-1)
	if left < 0 {
		return s.Client.EvalSha(ctx, sha, keys, args...)
	}
	if left == 0 {
		go func() {
			time.Sleep(s.arrives)
			s.over <- s.Client.EvalSha(context.WithoutCancel(ctx), sha, keys, args...).Err()
		}()
	}
	time.Sleep(s.takes)
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(io.EOF)
	return cmd
}

// A request may be on its way for as long after the client has given it up as after it was sent.
func TestWrappedClientTakesLong(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"left": time.Second, "stayed": time.Hour, "failed": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if fips140.Enforced() {
				t.Skip("under fips140=only random numbers come from the jitter of the clock, which a bubble has not")
			}
			synctest.Test(t, func(t *testing.T) {
				rdb := redistest.PipeMini(t).Client(t)
				warm := redislock.New(rdb)
				check.NoError(t, world.Cycle(t.Context(), warm, "warm"))
				warm.Close()
				s := &lagging{Client: rdb, takes: 25 * time.Second, arrives: 30 * time.Second, over: make(chan error, 1)}
				s.fails.Store(1)
				if name == "failed" {
					s.fails.Store(4) // as often as a client tries that does not say how often
				}
				client := redislock.New(s)
				defer client.Close()
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				defer cancel()
				lock, err := client.Obtain(ctx, []string{"k"}, time.Hour, nil)
				switch name {
				case "left":
					check.Is(t, err, redislock.ErrUnknownOutcome, context.DeadlineExceeded)
				case "failed":
					check.Is(t, err, redislock.ErrUnknownOutcome, io.EOF)
				default:
					check.NoError(t, errors.Join(err, lock.Release(ctx)))
				}
				check.NoError(t, <-s.over)
				time.Sleep(time.Minute)
				if n := rdb.Exists(t.Context(), "k").Val(); n != 0 {
					t.Error("the key is locked, by a request that came late")
				}
			})
		})
	}
}
