package cost_test

import (
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A standing is where somebody stands in line: its id, and the channel on which it is told.
type standing struct{ id, channel string }

// A meter counts what scripts do on a server that nobody else uses.
type meter struct {
	server  *redistest.Server
	admin   *redis.Client
	client  *redislock.Client // whose calls it does not see
	entered chan standing     // the waiters that stand in line, when they have their first answers
	asked   chan standing     // and each time that they have asked again
	scripts int               // were run during what was counted last
	took    time.Duration     // what was counted last
}

func newMeter(t *testing.T) *meter {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	m := &meter{server: server, admin: server.Client(t), entered: make(chan standing, 1000), asked: make(chan standing, 100_000)}
	// A machine that stands still in the middle of a script is no reason for the server to refuse others.
	check.NoError(t, m.admin.ConfigSet(t.Context(), "lua-time-limit", "0").Err())
	m.client = m.newClient(t)
	return m
}

// newClient makes a Client whose waiters the meter sees enter their lines.
func (m *meter) newClient(t *testing.T) *redislock.Client {
	t.Helper()
	return m.clientOf(t, m.server.Client(t))
}

func (m *meter) clientOf(t *testing.T, rdb *redis.Client, opts ...redislock.ClientOption) *redislock.Client {
	t.Helper()
	const inLine = -2
	var seen sync.Map // ids
	rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
		answered, ok := cmd.(interface{ Slice() ([]any, error) })
		if !ok {
			return
		}
		run := check.RunIn(cmd)
		id, _ := run.Waiter()
		reply, _ := answered.Slice()
		if id == "" || len(reply) == 0 || reply[0] != int64(inLine) {
			return
		}
		if _, again := seen.LoadOrStore(id, true); again {
			m.asked <- standing{id, run.Channel()}
		} else {
			m.entered <- standing{id, run.Channel()}
		}
	}})
	return world.NewClient(t, rdb, opts...)
}

// waits returns who has entered a line, or asked in it again.
func waits(t *testing.T, what string, answers <-chan standing) standing {
	t.Helper()
	s, ok := check.Receive(answers, 10*time.Second)
	if !ok {
		t.Fatal("nobody " + what)
	}
	return s
}

// forgetAsked forgets who has asked again so far.
func (m *meter) forgetAsked() {
	for len(m.asked) > 0 {
		<-m.asked
	}
}

// asksAgain waits until somebody has asked again.
func (m *meter) asksAgain(t *testing.T) {
	t.Helper()
	waits(t, "asks again", m.asked)
}

// counts returns what scripts run while fn runs.
func (m *meter) counts(t *testing.T, fn func()) world.Commands {
	t.Helper()
	calls := world.Counted(t, m.admin, func() {
		began := time.Now()
		fn()
		m.took = time.Since(began)
	})
	m.scripts = calls.Scripts()
	return calls.InScripts()
}
