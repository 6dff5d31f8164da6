package script_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A meter counts what the scripts of one client do.
type meter struct {
	rdb, admin *redis.Client
	client     *redislock.Client
	sent       []string // scripts, and how many keys they were sent
}

// newMeter starts a server that nobody else uses.
func newMeter(t *testing.T) *meter {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	m := &meter{rdb: server.Client(t), admin: server.Client(t)}
	m.client = redislock.New(m.rdb)
	t.Cleanup(m.client.Close)
	m.rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
		if run := check.RunIn(cmd); run.Script != "" {
			m.sent = append(m.sent, fmt.Sprint(run.Script, " ", len(run.Keys)))
		}
	}})
	return m
}

// counts returns how many commands the scripts run that fn has sent.
func (m *meter) counts(t *testing.T, fn func()) int {
	t.Helper()
	m.sent = nil
	return world.Counted(t, m.admin, fn).InScripts().Total()
}

func numbered(name string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprint(name, i))
	}
	return keys
}

// Where nobody waits and all is answered, a guard costs nothing: a request has as many keys, and its script
// runs as many commands, as if there were none.
func TestGuardCostsNothing(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	ctx := t.Context()
	for _, n := range []int{1, 8} {
		keys := numbered(fmt.Sprint("of ", n, " "), n)
		var lock *redislock.Lock
		steps := []struct {
			name     string
			do       func() error
			sent     string
			commands int
		}{
			{"obtain", func() (err error) {
				lock, err = m.client.Obtain(ctx, keys, time.Minute, nil)
				return err
			}, fmt.Sprint("obtain ", 2*n), map[int]int{1: 2, 8: 12}[n]},
			{"renewal", func() error { return lock.Refresh(ctx, time.Minute) }, fmt.Sprint("refresh ", n), 1 + 2*n},
			{"release", func() error { return lock.Release(ctx) }, fmt.Sprint("release ", 2*n), 3},
		}
		for warm := range 2 {
			for _, step := range steps {
				commands := m.counts(t, func() { check.NoError(t, step.do()) })
				if warm > 0 && (!slices.Equal(m.sent, []string{step.sent}) || commands != step.commands) {
					t.Errorf("%s of %d keys: sent are %q, with %d commands, want %q with %d",
						step.name, n, m.sent, commands, step.sent, step.commands)
				}
			}
		}
		calls := make([]plain, 20)
		for i := range calls {
			calls[i] = plain{keys: numbered(fmt.Sprint("batch ", n, " ", i, " "), n), value: "mine", ttl: time.Minute}
		}
		s := &fixture{rdb: m.rdb}
		commands := m.counts(t, func() { s.runBatch(t, calls...) })
		if want := 1 + len(calls)*map[int]int{1: 1, 8: 12}[n]; commands != want {
			t.Errorf("a batch of %d for %d keys: %d commands, want %d", len(calls), n, commands, want)
		}
	}
}

// A key with guards of others costs at most three times the commands, until they end.
func TestGuardsOfOthersCostLittle(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	s := &fixture{rdb: m.rdb}
	for _, n := range []int{1, 8} {
		keys := numbered(fmt.Sprint("of ", n, " "), n)
		cycle := func() {
			lock, err := m.client.Obtain(t.Context(), keys, time.Minute, nil)
			check.NoError(t, err)
			check.NoError(t, lock.Release(t.Context()))
		}
		cycle() // the server knows the scripts
		without := m.counts(t, cycle)
		for _, key := range keys {
			for i := range 5 {
				s.setGuard(t, key, fmt.Sprint("other ", i), 100, 1)
			}
		}
		with := m.counts(t, cycle)
		t.Logf("%d keys: %d commands, and %d beside guards", n, without, with)
		if with > 3*without {
			t.Errorf("%d keys: %d commands beside guards, and %d without, want at most three times as many", n, with, without)
		}
		if got := len(s.guards(t, keys[0])); got != 5 {
			t.Errorf("%d guards are left, want 5", got)
		}
	}
}
