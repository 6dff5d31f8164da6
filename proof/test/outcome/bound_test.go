package outcome_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A stuckNetwork is a network in which everything gets stuck somewhere, from the moment when the test says so.
type stuckNetwork struct {
	mu    sync.Mutex
	where string        // dial, write or read; else nowhere
	over  chan struct{} // closed when it lets go
}

// sticks has the network stick somewhere. What is stuck already stays so.
func (m *stuckNetwork) sticks(where string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.where = where
}

// newStuckNetwork makes one, and letGo, which sets everything free for good. After ten minutes that happens by itself.
func newStuckNetwork() (m *stuckNetwork, letGo func()) {
	m = &stuckNetwork{over: make(chan struct{})}
	letGo = sync.OnceFunc(func() {
		m.sticks("")
		close(m.over)
	})
	time.AfterFunc(10*time.Minute, letGo)
	return m, letGo
}

func (m *stuckNetwork) at(where string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.where == where
}

// dials is an option for a Redis client that is to have this network.
func (m *stuckNetwork) dials(opt *redis.Options) {
	dial := opt.Dialer
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if m.at("dial") {
			<-m.over // it does not listen to ctx either
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &stuckConn{Conn: conn, in: m, lost: make(chan struct{})}, nil
	}
}

// A stuckConn is a connection of that network.
type stuckConn struct {
	net.Conn
	in   *stuckNetwork
	once sync.Once
	lost chan struct{} // closed with it

	mu  sync.Mutex
	end time.Time // of a write
}

func (c *stuckConn) SetWriteDeadline(end time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = end
	return c.Conn.SetWriteDeadline(end)
}

func (c *stuckConn) Write(p []byte) (int, error) {
	switch {
	case c.in.at("read"):
		return len(p), nil // nobody will answer
	case c.in.at("write"):
		c.mu.Lock()
		wait := time.Until(c.end)
		c.mu.Unlock()
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			return 0, os.ErrDeadlineExceeded
		case <-c.lost:
			return 0, net.ErrClosed
		}
	}
	return c.Conn.Write(p)
}

func (c *stuckConn) Close() error {
	c.once.Do(func() { close(c.lost) })
	return c.Conn.Close()
}

// whileStuck runs fn in a bubble with a world behind a stuckNetwork; mods set the time-outs of its client.
func whileStuck(t *testing.T, fn func(t *testing.T, w *world.World, m *stuckNetwork), mods ...func(*redis.Options)) {
	t.Helper()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		m, letGo := newStuckNetwork()
		w.RDB = mini.Client(t, append([]func(*redis.Options){m.dials}, mods...)...)
		w.Client = redislock.New(w.RDB)
		defer w.Client.Close()
		defer synctest.Wait() // until what was stuck has come through
		defer letGo()
		fn(t, w, m)
	})
}

// slackOfBound is by how much an attempt may take longer than its bound: while it waits for a connection.
const slackOfBound = 100 * time.Millisecond

// An attempt to which nobody answers ends, wherever it hangs.
func TestBound(t *testing.T) {
	t.Parallel()
	const read = 3 * time.Second
	shortly := func(opt *redis.Options) { opt.ReadTimeout = read }
	for _, ttl := range []time.Duration{time.Second, 20 * time.Second} {
		for _, where := range []string{"dial", "write", "read"} {
			for _, warm := range []bool{true, false} {
				for _, mayEnd := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/%s/warm=%t/ctx=%t", ttl, where, warm, mayEnd), func(t *testing.T) {
						whileStuck(t, func(t *testing.T, w *world.World, m *stuckNetwork) {
							hangs(t, w, m, where, ttl, max(ttl, read), warm, mayEnd)
						}, shortly)
					})
				}
			}
		}
	}
}

// hangs has one attempt hang somewhere.
func hangs(t *testing.T, w *world.World, m *stuckNetwork, where string, ttl, most time.Duration, warm, mayEnd bool) {
	t.Helper()
	ctx := context.Background()
	if mayEnd {
		ctx = t.Context()
	}
	if warm {
		warm := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("warm"), ttl, nil))
		check.NoError(t, warm.Release(ctx))
	}
	m.sticks(where)
	if where == "dial" && warm { // its connection has ended, and a new one cannot be had
		check.NoError(t, w.RDB.Do(ctx, "quit").Err())
	}
	began := time.Now()
	_, err := w.Client.Obtain(ctx, w.Keys("a"), ttl, nil)
	took := time.Since(began)
	check.Is(t, err, redislock.ErrUnknownOutcome)
	if errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("got error %v, want one that is not ErrNotObtained", err)
	}
	if took > most+slackOfBound {
		t.Errorf("it took %v, want %v at most", took, most)
	}
	if took < most/2 {
		t.Errorf("it took %v, want it to wait for an answer", took)
	}
}

// Who has waited in vain for a server does not wait for it once more, to leave the line there.
func TestBoundIsTheEnd(t *testing.T) {
	t.Parallel()
	const read = 3 * time.Second
	whileStuck(t, func(t *testing.T, w *world.World, m *stuckNetwork) {
		m.sticks("read")
		began := time.Now()
		_, err := w.Client.Obtain(t.Context(), w.Keys("a"), time.Second, &redislock.Options{Queue: true, RetryStrategy: redislock.NoRetry()})
		check.Is(t, err, redislock.ErrUnknownOutcome)
		if took := time.Since(began); took != read {
			t.Errorf("it took %v, want %v", took, read)
		}
	}, func(opt *redis.Options) { opt.ReadTimeout = read })
}

// After an attempt without an answer the strategy goes on, and nothing of such attempts is left.
func TestBoundThenAgain(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"dial", "read"} {
		t.Run(where, func(t *testing.T) {
			whileStuck(t, func(t *testing.T, w *world.World, m *stuckNetwork) {
				const ttl = time.Second
				m.sticks(where)
				opt := &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Second), 2)}
				began := time.Now()
				_, err := w.Client.Obtain(context.Background(), w.Keys("a"), ttl, opt)
				check.Is(t, err, redislock.ErrUnknownOutcome)
				if took, most := time.Since(began), 3*(ttl+slackOfBound)+2*time.Second; took > most {
					t.Errorf("three attempts took %v, want %v at most", took, most)
				}
				opt.RetryStrategy = redislock.LinearBackoff(time.Second)
				time.AfterFunc(10*time.Second, func() { m.sticks("") })
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(context.Background(), w.Keys("a"), time.Hour, opt))
				check.NoError(t, lock.Release(context.Background()))
				time.Sleep(15 * time.Minute) // what was stuck has come through, and is cleared up
				check.Must[*redislock.Lock](t)(w.Client.Obtain(context.Background(), w.Keys("a"), time.Hour, nil))
			}, func(opt *redis.Options) { opt.ReadTimeout = time.Second })
		})
	}
}

// A pool of which all connections are taken holds an attempt up no longer than its bound, either. go-redis has a second pool
// for pipelines, which would let through what travels together.
func TestBoundOfPool(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t, redistest.Redis).Client(t, func(opt *redis.Options) {
		opt.PoolSize, opt.PipelinePoolSize = 1, -1
		opt.ReadTimeout, opt.PoolTimeout = time.Second, 30*time.Second
	})
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	taken := rdb.Conn()
	defer taken.Close()
	check.NoError(t, taken.Ping(t.Context()).Err())
	for name, ctx := range map[string]context.Context{"endless": context.Background(), "may end": t.Context()} {
		ended := make(chan error, 1)
		go func() {
			_, err := client.Obtain(ctx, []string{t.Name()}, time.Second, nil)
			ended <- err
		}()
		err, ok := check.Receive(ended, 15*time.Second)
		if !ok {
			t.Fatalf("%s: it still waits", name)
		}
		check.Is(t, err, redislock.ErrUnknownOutcome)
	}
	check.NoError(t, taken.Close())
	next := &redislock.Options{Wait: world.Long} // the others may take the key now, and give it back
	check.NoError(t, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, world.Long, next)).Release(t.Context()))
}

// A waiter in line keeps its place while the server does not answer.
func TestBoundInLine(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		var asked, left int
		var began time.Time
		p := &world.FakeServer{Script: func(run check.Run) string {
			switch {
			case world.AsksFirst(run):
				return world.HeldBySomebody
			case !world.StandsInLine(run):
				left++
				return ":1\r\n"
			}
			if asked++; asked == 1 {
				began = time.Now()
			} else if _, place := run.Waiter(); place != proto.PlaceOf(7) {
				t.Errorf("got place %v, want it to be the one it had", place)
			}
			switch since := time.Since(began); {
			case since > 3*time.Minute:
				return ":1\r\n"
			case since > time.Second && since < 2*time.Minute:
				return ""
			}
			return world.InPlace(1, 1)
		}}
		client := redislock.New(p.Client(t, func(opt *redis.Options) {
			opt.ReadTimeout, opt.MaxRetries = 20*time.Second, 3 // so it gives up a try that is under way
		}))
		defer client.Close()
		lock := check.Must[*redislock.Lock](t)(client.Obtain(context.Background(), []string{"k"}, 30*time.Second, world.Queue()))
		if left > 0 {
			t.Error("it has left the line meanwhile")
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// The default of a Redis client that says nothing is that of go-redis.
func TestReadTimeoutIsThatOfGoRedis(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0"})
	defer rdb.Close()
	if got := rdb.Options().ReadTimeout; got != 5*time.Second {
		t.Errorf("the read time-out of go-redis is %v by default, want that of bound.go", got)
	}
}
