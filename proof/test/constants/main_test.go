// Package constants_test has the tests of how long things take and how many there may be: each fails if a constant is half of
// what it is, or twice as much. proof/constants.md says which constant has which test.
package constants_test

import (
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

func TestMain(m *testing.M) { redistest.Main(m) }

// once has the Client send each request once, as long as nobody asks again.
func once(o *redis.Options) { o.MaxRetries = -1 }

// A gate is a hook that notes when a script is run, and refuses it while it is shut.
type gate struct {
	script string

	mu    sync.Mutex
	began time.Time
	at    []time.Duration // since it began
	shut  bool
	also  func(run check.Run) // sees what is run, in turn
}

// newGate makes a Client in a bubble, and the gate of one of its scripts.
func newGate(t *testing.T, mini *redistest.Mini, script string) (*redislock.Client, *gate) {
	t.Helper()
	g := &gate{script: script, began: time.Now()}
	rdb := mini.Client(t, once)
	rdb.AddHook(check.Around{Instead: g.pass})
	return world.NewClient(t, rdb), g
}

func (g *gate) pass(cmd redis.Cmder) (answered bool) {
	run := check.RunIn(cmd)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.also != nil {
		g.also(run)
	}
	if !run.Of(g.script) {
		return false
	}
	g.at = append(g.at, time.Since(g.began))
	if g.shut {
		cmd.SetErr(world.Refusal("LOADING not yet"))
	}
	return g.shut
}

// begin has the gate note anew, and refuse or not.
func (g *gate) begin(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.began, g.at, g.shut = time.Now(), nil, shut
}

// watch has the gate show what is run.
func (g *gate) watch(fn func(run check.Run)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.also = fn
}

// times returns when the script was run.
func (g *gate) times() []time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.at)
}

// wantAt checks when the script was run.
func (g *gate) wantAt(t *testing.T, want ...time.Duration) {
	t.Helper()
	if got := g.times(); !slices.Equal(got, want) {
		t.Errorf("%s was run after %v, want %v", g.script, got, want)
	}
}

// took returns how long something takes.
func took(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}
