package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// A probe looks at one server, past its relay and through it.
type probe struct {
	*user
	admin *redis.Client // past the relay, as the default user
	fast  *redis.Client // through the relay, asks once and gives up soon
}

func newProbe(t *testing.T, w world.World, addr string) *probe {
	t.Helper()
	target := w.Target()
	p := &probe{user: newUser(t, w), admin: redis.NewClient(&redis.Options{Addr: addr})}
	p.fast = redis.NewClient(&redis.Options{
		Addr: addr, Dialer: target.Dial, Username: target.Username, Password: target.Password,
		MaxRetries: -1, DialerRetries: 1, PoolSize: 1,
		ReadTimeout: 150 * time.Millisecond, DialTimeout: 150 * time.Millisecond, PoolTimeout: time.Second,
	})
	t.Cleanup(func() {
		_ = p.admin.Close()
		_ = p.fast.Close()
	})
	return p
}

// ask sends a script through the relay, and returns its error.
func (p *probe) ask() error {
	return p.fast.Eval(context.Background(), `return redis.call('set', KEYS[1], 'token', 'px', 50)`, []string{p.t.Name()}).Err()
}

// fails reports whether a script fails with an error that has one of the texts.
func (p *probe) fails(texts ...string) func() bool {
	return func() bool {
		err := p.ask()
		for _, text := range texts {
			if err != nil && strings.Contains(err.Error(), text) {
				return true
			}
		}
		return false
	}
}

// slower reports whether a script takes so long.
func (p *probe) slower(d time.Duration) func() bool {
	return func() bool {
		start := time.Now()
		_ = p.ask()
		return time.Since(start) >= d
	}
}

const brief = 400 * time.Millisecond

// Each fault of one server can be seen, ends, and leaves nothing.
func TestSingle(t *testing.T) {
	t.Parallel()
	w := world.Start(t, world.Single, redistest.Redis)
	p := newProbe(t, w, w.Target().Addrs[0])
	p.works()
	for _, c := range []struct {
		name  string
		watch func() bool
	}{
		{"cut", p.fails("EOF", "reset", "closed", "broken pipe")},
		{"cut-some", p.fails("EOF", "reset", "closed", "broken pipe")},
		{"refuse", p.fails("refused")},
		{"blackhole", p.fails("timeout")},
		{"delay-requests", p.slower(10 * time.Millisecond)},
		{"delay-replies", p.slower(10 * time.Millisecond)},
		{"drop-replies", p.fails("timeout")},
		{"cut-replies", p.fails("EOF")},
		{"hold", p.fails("timeout")},
		{"stop-short", p.slower(5 * time.Millisecond)},
		{"stop-long", p.fails("timeout")},
		{"restart", p.restarts()},
		{"kill-clients", p.fails("EOF", "reset", "closed")},
		{"script-flush", p.forgetsScripts()},
		{"pause-writes", p.slower(30 * time.Millisecond)},
		{"pause-all", p.slower(30 * time.Millisecond)},
		{"busy-script", p.fails("BUSY")},
		{"no-memory", p.fails("OOM")},
		{"no-replicas", p.fails("NOREPLICAS")},
		{"rights", p.lacks()},
		{"rights-of-guards", p.lacks()},
		{"slow-server", p.slower(5 * time.Millisecond)},
		{"slow-disk", p.slower(5 * time.Millisecond)},
		{"restart-empty", p.loses()},
		{"flush", p.loses()},
		{"delete", p.loses()},
		{"evict", p.loses()},
		{"clock-ahead", p.clock(func(ahead time.Duration) bool { return ahead > 80*time.Millisecond })},
		{"clock-back", p.clock(func(ahead time.Duration) bool { return ahead < -80*time.Millisecond })},
	} {
		start := time.Now()
		strike(t, w, c.name, brief, c.watch)
		heal(t, p.user)
		t.Logf("%s: %v", c.name, time.Since(start).Round(time.Millisecond))
	}
}
