package guard_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A slowDialer lets connections take their time, and may lose what is written next.
type slowDialer struct {
	takes   atomic.Int64 // how long a connection takes
	refuses atomic.Bool  // there are no connections
	loses   atomic.Bool  // the next write is the last of its connection, and is not answered
}

// dials is an option for a Redis client that is to have it.
func (d *slowDialer) dials(opt *redis.Options) {
	dial := opt.Dialer
	opt.DialerRetries = 1
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		time.Sleep(time.Duration(d.takes.Load())) // the network does not listen to ctx
		if d.refuses.Load() {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		conn, err := dial(ctx, network, addr)
		return &losingConn{Conn: conn, of: d}, err
	}
}

// A losingConn is one of its connections.
type losingConn struct {
	net.Conn
	of   *slowDialer
	lost atomic.Bool
}

func (c *losingConn) Write(p []byte) (int, error) {
	if c.of.loses.CompareAndSwap(true, false) {
		c.lost.Store(true)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *losingConn) Read(p []byte) (int, error) {
	if c.lost.Load() {
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

// countClosing counts the requests through a client that set guards.
func countClosing(rdb *redis.Client) *atomic.Int64 {
	var closing atomic.Int64
	rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
		if check.RunIn(cmd).Closes() {
			closing.Add(1)
		}
	}})
	return &closing
}

// A request that found no connection was not sent, so nothing closes it: neither the next try, nor the clean-up of an Obtain
// whose context has ended meanwhile.
func TestSlowConnectionSetsNoGuard(t *testing.T) {
	t.Parallel()
	const cycles = 5
	for name, c := range map[string]struct {
		takes, ends time.Duration
	}{
		"endless": {takes: 60 * time.Millisecond},
		"ends":    {takes: 3 * time.Second, ends: 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				for range cycles {
					d := new(slowDialer)
					d.takes.Store(int64(c.takes))
					rdb := mini.Client(t, d.dials)
					closing, sent := countClosing(rdb), check.Count(rdb, "eval")
					client := redislock.New(rdb)
					ctx, cancel := context.Background(), func() {}
					if c.ends > 0 {
						ctx, cancel = context.WithTimeout(ctx, c.ends)
					}
					lock, err := client.Obtain(ctx, w.Keys("a"), time.Minute, nil)
					if cancel(); c.ends > 0 {
						check.Is(t, err, context.DeadlineExceeded)
						time.Sleep(20 * time.Second)
						if n := sent.Load(); n != 1 {
							t.Errorf("there are %d requests, want no clean-up behind the one that was not sent", n)
						}
					} else {
						check.NoError(t, err)
						check.NoError(t, lock.Release(context.Background()))
					}
					time.Sleep(20 * time.Second)
					if n := closing.Load(); n > 0 {
						t.Errorf("%d requests have set guards", n)
					}
					client.Close()
				}
				world.WantNothing(t, w.RDB, w.Prefix)
			})
		})
	}
}

// A request that was sent and not answered is closed by a later one, also if the tries between them find no connection.
func TestSlowConnectionAfterLostRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes, ends      time.Duration
		wrapped, refuses bool
	}{
		"endless":          {takes: 60 * time.Millisecond},
		"ends":             {takes: 3 * time.Second, ends: 300 * time.Millisecond},
		"ends, wrapped":    {takes: 3 * time.Second, ends: 300 * time.Millisecond, wrapped: true},
		"refused, wrapped": {ends: time.Minute, wrapped: true, refuses: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				d := new(slowDialer)
				rdb := mini.Client(t, d.dials)
				closing := countClosing(rdb)
				client := redislock.New(rdb)
				if c.wrapped { // the Redis client sends it again by itself
					client = redislock.New(struct{ *redis.Client }{rdb})
				}
				defer client.Close()
				ctx, cancel := context.Background(), func() {}
				warm := check.Must[*redislock.Lock](t)(client.Obtain(ctx, w.Keys("a"), time.Minute, nil))
				check.NoError(t, warm.Release(ctx))
				d.takes.Store(int64(c.takes))
				d.refuses.Store(c.refuses)
				d.loses.Store(true)
				if c.ends > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.ends)
				}
				defer cancel()
				lock, err := client.Obtain(ctx, w.Keys("a"), time.Minute, nil)
				if c.ends > 0 {
					check.Is(t, err, redislock.ErrUnknownOutcome)
				} else {
					check.NoError(t, err)
					check.NoError(t, lock.Release(t.Context()))
				}
				d.refuses.Store(false)
				time.Sleep(20 * time.Second)
				if n := closing.Load(); n == 0 {
					t.Error("nothing has closed it")
				}
				if n := check.Guards(t.Context(), w.RDB, "redislock:line:{"+w.Key("a")+"}"); n == 0 {
					t.Error("there is no guard")
				}
			})
		})
	}
}

// An impatient client returns when the context of a request ends, and leaves the request on its way.
type impatient struct{ *redis.Client }

// EvalSha runs a script.
func (c impatient) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	answered := make(chan *redis.Cmd, 1)
	go func() { answered <- c.Client.EvalSha(context.WithoutCancel(ctx), sha, keys, args...) }()
	select {
	case cmd := <-answered:
		return cmd
	case <-ctx.Done():
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(ctx.Err())
		return cmd
	}
}

// A client with a type of its own may return with the error of the context although the request was sent: then it is closed.
func TestImpatientClient(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		closing := countClosing(rdb)
		client := redislock.New(impatient{rdb})
		defer client.Close()
		warm := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a"), time.Minute, nil))
		check.NoError(t, warm.Release(t.Context()))
		rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
			if check.RunIn(cmd).Of("obtain") {
				time.Sleep(3 * time.Second)
			}
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := client.Obtain(ctx, w.Keys("a"), time.Minute, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		time.Sleep(20 * time.Second)
		if n := closing.Load(); n == 0 {
			t.Error("nothing has closed it")
		}
		w.WantFree(t, w.Key("a"))
	})
}
