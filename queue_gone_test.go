package redislock_test

import (
	"context"
	"errors"
	"net"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A perishable is a network whose connections can end all at once, like those of a process that dies.
type perishable struct {
	mu    sync.Mutex
	conns []net.Conn
	dead  bool
}

// dials is an option for a Redis client that is to have this network.
func (m *perishable) dials(opt *redis.Options) {
	dial := opt.Dialer
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	opt.MaxRetries = -1
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.dead {
			return nil, errors.New("the process is dead")
		}
		conn, err := dial(ctx, network, addr)
		m.conns = append(m.conns, conn)
		return conn, err
	}
}

func (m *perishable) dies() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, conn := range m.conns {
		_ = conn.Close()
	}
}

var wakeChannel = regexp.MustCompile(`redislock:wake:[\w-]{22}`)

// Those whose process is gone are passed over.
func TestQueueGone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		holder part
		line   []part // '!': is gone when the holder releases
		let    []part // who is let in then
	}{
		{"at the front", "A", []part{"!A", "!A", "A", "A"}, []part{"A"}},
		{"of a set, before those who want a part", "ABC", []part{"!ABC", "A", "b", "b", "C"}, []part{"A", "b", "b", "C"}},
		{"of sets that overlap", "ABC", []part{"!CB", "!BA", "Ca", "aB"}, []part{"Ca", "aB"}},
		{"before readers", "AB", []part{"!A", "!ab", "a", "!aB", "ba", "A"}, []part{"a", "ba"}},
		{"who waits for others as well", "A", []part{"!AD", "A", "D"}, []part{"A"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, b redistest.Backend) {
				w := newWorld(t, b)
				m := new(perishable)
				gone := &world{rdb: b.Client(t, m.dials), prefix: w.prefix}
				gone.client = redislock.New(gone.rdb)
				t.Cleanup(gone.client.Close)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				turns, lost := make(chan turn, 9), make(chan turn, 9)
				holder := w.hold(t, test.holder)
				for _, p := range test.line {
					if p[0] == '!' {
						gone.standIn(ctx, t, lost, p[1:])
					} else {
						w.standIn(ctx, t, turns, p)
					}
				}
				w.buries(t, m, test.holder)
				noError(t, holder.Release(t.Context()))
				inside := wantTurn(t, turns, test.let...)
				wantNobody(t, turns)
				for _, lock := range inside {
					noError(t, lock.Release(t.Context()))
				}
			})
		})
	}
}

// buries has a process die, and waits until the server has noticed.
func (w *world) buries(t *testing.T, m *perishable, p part) {
	t.Helper()
	write, _ := w.modes(p)
	line := must[[]string](t)(w.rdb.ZRange(t.Context(), "redislock:line:{"+write[0]+"}", 0, -1).Result())
	m.dies()
	eventually(t, 5*time.Second, "the server has noticed", func() bool {
		return slices.ContainsFunc(line, func(entry string) bool {
			return must[int64](t)(w.rdb.Publish(t.Context(), wakeChannel.FindString(entry), "").Result()) == 0
		})
	})
}
