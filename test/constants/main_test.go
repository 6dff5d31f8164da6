// Package constants_test has the tests of how long things take and how many there may be: each fails if a constant is half of
// what it is, or twice as much. docs/constants.md says which constant has which test.
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
}

// newGate makes a Client in a bubble, and the gate of one of its scripts.
func newGate(t *testing.T, mini *redistest.Mini, script string) (*redislock.Client, *gate) {
	t.Helper()
	g := &gate{script: script, began: time.Now()}
	rdb := mini.Client(t, once)
	rdb.AddHook(check.Instead(g.pass))
	return world.NewClient(t, rdb), g
}

func (g *gate) pass(cmd redis.Cmder) (answered bool) {
	if !check.RunIn(cmd).Of(g.script) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
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

// wantAt checks when the script was run.
func (g *gate) wantAt(t *testing.T, want ...time.Duration) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Equal(g.at, want) {
		t.Errorf("%s was run after %v, want %v", g.script, g.at, want)
	}
}

// took returns how long something takes.
func took(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}
