package line_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A mortal is the network of a process that can be killed.
type mortal struct {
	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

// wraps has the connections of a client be those of the process.
func (m *mortal) wraps(o *redis.Options) {
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		m.mu.Lock()
		defer m.mu.Unlock()
		if err == nil && m.dead {
			return nil, errors.Join(errors.New("the process is dead"), conn.Close())
		}
		m.conns = append(m.conns, conn)
		return conn, err
	}
}

// kill closes all connections, and lets no other one be made.
func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, conn := range m.conns {
		_ = conn.Close()
	}
}

// A lateScene is what has happened before the lease ends for which the last in line waits.
type lateScene struct {
	*world.World
	t    *testing.T
	ctx  context.Context
	mini *redistest.Mini
	lock *redislock.Lock // that is to change
	head mortal          // the process of who stands first, where somebody else does

	second chan error // when the next one has its turn
}

// holds has a key held by somebody who does not release it.
func (s *lateScene) holds(key string, ttl time.Duration) *redislock.Lock {
	s.t.Helper()
	return check.Must[*redislock.Lock](s.t)(s.Client.Obtain(s.ctx, s.Keys(key), ttl, nil))
}

// isRead has a key read by somebody who does not release it.
func (s *lateScene) isRead(key string, ttl time.Duration) {
	s.t.Helper()
	check.Must[*redislock.Lock](s.t)(s.Client.ObtainRead(s.ctx, s.Keys(key), ttl, nil))
}

// headWaits has another process stand in line first.
func (s *lateScene) headWaits(write, read []string) {
	s.t.Helper()
	other := world.World{RDB: s.RDB, Client: world.NewClient(s.t, s.mini.Client(s.t, s.head.wraps)), Prefix: s.Prefix}
	other.Wait(s.ctx, make(chan world.Turn, 1), "head", other.Keys(write...), other.Keys(read...))
	s.InLine(s.t, s.Key("a"), 1)
}

// headDies kills the process of who stands first, and waits until the server knows that nobody hears it any more.
func (s *lateScene) headDies() {
	s.t.Helper()
	heard := func() int { return len(check.Must[[]string](s.t)(s.RDB.PubSubChannels(s.ctx, "*").Result())) }
	before := heard()
	s.head.kill()
	check.Eventually(s.t, world.Soon, "the server knows that it has died", func() bool { return heard() < before })
}

// Whoever can go next goes within milliseconds after the end of the lease of somebody who does not release, whatever is in the
// line, and whoever has died. All of them would ask by themselves seconds later.
func TestQueueNobodyIsLate(t *testing.T) {
	const (
		lease = 1200 * time.Millisecond
		most  = 50 * time.Millisecond
		// Who knows that nobody is in front asks when the lease is over, and others a little later.
		firstMost = clock.AfterEnd + time.Millisecond
	)
	a, ab := []string{"a"}, []string{"a", "b"}
	for name, scene := range map[string]struct {
		before      func(s *lateScene)
		write, read []string // of the one who waits
		first       bool     // nobody stands in front of it
		after       func(s *lateScene)
	}{
		"a guard stands in the line": {write: a, first: true, before: func(s *lateScene) {
			s.holds("a", lease)
			score := float64(int64(1)<<52 + time.Now().Add(world.Long).Unix()<<20 + 1)
			check.NoError(s.t, s.RDB.ZAdd(s.ctx, "redislock:line:{"+s.Key("a")+"}", redis.Z{Score: score, Member: "other"}).Err())
		}},
		"the holder refreshes to less": {write: a, first: true, before: func(s *lateScene) {
			s.lock = s.holds("a", world.Long)
		}, after: func(s *lateScene) { check.NoError(s.t, s.lock.Refresh(s.ctx, lease)) }},
		"the reader in front waits for another key, too": {read: a, before: func(s *lateScene) {
			s.holds("b", world.Long)
			s.holds("a", lease)
			s.headWaits(nil, ab)
		}},
		"the first in line dies": {write: a, before: func(s *lateScene) {
			s.holds("a", lease)
			s.headWaits(a, nil)
		}, after: (*lateScene).headDies},
		"the first in line dies, a reader": {read: a, before: func(s *lateScene) {
			s.holds("a", lease)
			s.headWaits(a, nil)
		}, after: (*lateScene).headDies},
		"the first in line is dead when the holder refreshes to less": {write: a, before: func(s *lateScene) {
			s.lock = s.holds("a", world.Long)
			s.headWaits(a, nil)
		}, after: func(s *lateScene) {
			s.headDies()
			check.NoError(s.t, s.lock.Refresh(s.ctx, lease))
		}},
		"the first in line dies, and somebody behind asks last": {write: a, before: func(s *lateScene) {
			s.isRead("a", lease)
			s.headWaits(a, nil)
		}, after: func(s *lateScene) {
			s.Wait(s.ctx, make(chan world.Turn, 1), "behind", nil, s.Keys("a"))
			s.InLine(s.t, s.Key("a"), 3)
			s.headDies()
		}},
		"the first in line dies, and is passed by the second": {read: a, before: func(s *lateScene) {
			s.holds("b", world.Long)
			s.isRead("a", lease)
			s.headWaits([]string{"b"}, a)
			second := world.NewClient(s.t, s.mini.Client(s.t))
			go func() {
				_, err := second.Obtain(s.ctx, s.Keys("a"), lease, world.Queue())
				s.second <- err
			}()
			s.InLine(s.t, s.Key("a"), 2)
		}, after: func(s *lateScene) {
			s.headDies()
			check.NoError(s.t, <-s.second)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				ctx, cancel := context.WithCancel(t.Context())
				s := &lateScene{World: w, t: t, ctx: ctx, mini: mini, second: make(chan error, 1)}
				scene.before(s)
				turns := make(chan world.Turn, 1)
				before := countOf(t, w)
				w.Wait(ctx, turns, "last", w.Keys(scene.write...), w.Keys(scene.read...))
				w.InLine(t, w.Key("a"), before+1)
				if scene.after != nil {
					scene.after(s)
				}
				end := time.Now().Add(check.Must[time.Duration](t)(w.RDB.PTTL(ctx, w.Key("a")).Result()))
				got := <-turns
				check.NoError(t, got.Err)
				if late := time.Since(end); late < 0 || late > most || scene.first && late > firstMost {
					t.Errorf("it has its turn %v after the end, want at most %v, or %v if nobody is in front", late, most, firstMost)
				}
				check.NoError(t, got.Lock.Release(ctx))
				cancel()
			})
		})
	}
}

// countOf is how many stand in the line of "a".
func countOf(t *testing.T, w *world.World) int {
	t.Helper()
	return len(check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("a")))[0].Line)
}
