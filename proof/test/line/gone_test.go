package line_test

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
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A cuttable is a network whose connections can end all at once, like those of a process that dies.
type cuttable struct {
	mu    sync.Mutex
	conns []net.Conn
	dead  bool
}

// dials is an option for a Redis client that is to have this network.
func (m *cuttable) dials(opt *redis.Options) {
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

func (m *cuttable) dies() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, conn := range m.conns {
		_ = conn.Close()
	}
}

var wakeChannel = regexp.MustCompile(`redislock:wake:[\w-]{22}`)

// Waiters whose process is gone are passed over.
func TestQueueGone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		holder world.Part
		line   []world.Part // '!': is gone when the holder releases
		let    []world.Part // who is let in then
	}{
		{"at the front", "A", []world.Part{"!A", "!A", "A", "A"}, []world.Part{"A"}},
		{"of a set, before those who want a part", "ABC", []world.Part{"!ABC", "A", "b", "b", "C"}, []world.Part{"A", "b", "b", "C"}},
		{"of sets that overlap", "ABC", []world.Part{"!CB", "!BA", "Ca", "aB"}, []world.Part{"Ca", "aB"}},
		{"before readers", "AB", []world.Part{"!A", "!ab", "a", "!aB", "ba", "A"}, []world.Part{"a", "ba"}},
		{"who waits for others as well", "A", []world.Part{"!AD", "A", "D"}, []world.Part{"A"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, b redistest.Backend) {
				w := world.New(t, b)
				m := new(cuttable)
				gone := &world.World{RDB: b.Client(t, m.dials), Prefix: w.Prefix}
				gone.Client = redislock.New(gone.RDB)
				t.Cleanup(gone.Client.Close)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				turns, lost := make(chan world.Turn, 9), make(chan world.Turn, 9)
				holder := holdPart(t, w, test.holder)
				for _, p := range test.line {
					if p[0] == '!' {
						standIn(ctx, t, gone, lost, p[1:])
					} else {
						standIn(ctx, t, w, turns, p)
					}
				}
				buries(t, w, m, test.holder)
				check.NoError(t, holder.Release(t.Context()))
				inside := world.WantTurn(t, turns, test.let...)
				world.WantNobody(t, turns)
				for _, lock := range inside {
					check.NoError(t, lock.Release(t.Context()))
				}
			})
		})
	}
}

// buries has a process die, and waits until the server has noticed.
func buries(t *testing.T, w *world.World, m *cuttable, p world.Part) {
	t.Helper()
	write, _ := w.Modes(p)
	line := check.Must[[]string](t)(w.RDB.ZRange(t.Context(), "redislock:line:{"+write[0]+"}", 0, -1).Result())
	m.dies()
	check.Eventually(t, 5*time.Second, "the server has noticed", func() bool {
		return slices.ContainsFunc(line, func(entry string) bool {
			return check.Must[int64](t)(w.RDB.Publish(t.Context(), wakeChannel.FindString(entry), "").Result()) == 0
		})
	})
}
