package watch

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) {
	cli.Reachable = time.Minute
	redistest.Main(m)
}

// total is what was spent in all.
func (m *meter) total() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

// The meter lets through what its rate allows, and what costs much is paid off later.
func TestMeter(t *testing.T) {
	t.Parallel()
	m := newMeter(1000)
	began := time.Now()
	for range 30 {
		check.NoError(t, m.take(t.Context(), 100))
	}
	if allowed := 1000*(time.Since(began)+burst).Seconds() + 100; m.total() != 3000 || m.total() > allowed+1 {
		t.Errorf("spent %v in %v, allowed are %v", m.total(), time.Since(began), allowed)
	}
}

// Every node of a Cluster is counted, those that are known already and those that are not.
func TestMeterCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, redistest.Redis, 3, 0)
	addr := c.Addrs()[0]
	server := &cli.Redis{URL: "redis://" + addr + "?addr=" + addr}
	m := check.Must[*meter](t)(openMetered(t.Context(), server, 1e6))
	t.Cleanup(func() { _ = m.Close() })
	client := m.Client()
	t.Cleanup(client.Close)
	var keys []string
	for i := range 60 {
		keys = append(keys, fmt.Sprint("k", i))
	}
	check.Must[[]redislock.KeyState](t)(client.Inspect(t.Context(), keys)) // now all servers have the script
	before := m.total()
	check.Must[[]redislock.KeyState](t)(client.Inspect(t.Context(), keys))
	if got := m.total() - before; got < 60*lookCost || got > 100*lookCost {
		t.Errorf("60 looks count for %v commands, want %d each", got, lookCost)
	}
}
