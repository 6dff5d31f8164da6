package cost_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A meter counts what scripts do on a server that nobody else uses.
type meter struct {
	server  *redistest.Server
	admin   *redis.Client
	client  *redislock.Client // whose calls it does not see
	entered chan string       // ids of the waiters that stand in line, when they have their answers
	keys    int               // how many it has named
}

func newMeter(t *testing.T) *meter {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	m := &meter{server: server, admin: server.Client(t), entered: make(chan string, 10_000)}
	m.client = m.newClient(t)
	return m
}

// newClient makes a Client whose waiters the meter sees enter their lines.
func (m *meter) newClient(t *testing.T) *redislock.Client {
	t.Helper()
	return m.clientOf(t, m.server.Client(t))
}

func (m *meter) clientOf(t *testing.T, rdb *redis.Client) *redislock.Client {
	t.Helper()
	const inLine = -2
	seen := make(map[string]bool) // by one goroutine at a time: a test lets in one waiter after the other
	rdb.AddHook(check.Answered(func(cmd redis.Cmder) {
		answered, ok := cmd.(interface{ Slice() ([]any, error) })
		if !ok {
			return
		}
		id, _ := check.RunIn(cmd).Waiter()
		if reply, _ := answered.Slice(); id != "" && len(reply) > 0 && reply[0] == int64(inLine) && !seen[id] {
			seen[id] = true
			m.entered <- id
		}
	}))
	return world.NewClient(t, rdb)
}

// counts returns what scripts run while fn runs.
func (m *meter) counts(t *testing.T, fn func()) world.Commands {
	t.Helper()
	check.NoError(t, m.admin.ConfigResetStat(t.Context()).Err())
	fn()
	return world.ScriptCommands(t, m.admin)
}

// someKeys names n keys that nobody has used.
func (m *meter) someKeys(n int) []string {
	m.keys++
	return world.Numbered(fmt.Sprintf("set %d", m.keys), n)
}
