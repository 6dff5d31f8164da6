package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/turns"
	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
	"github.com/seed-14de3678/redislock/proof/earlier"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// beforeCommit is the last one without waiting in one process.
const beforeCommit = "cd41b2f7b4f64744a1e0658cd28768bde3c1d00c"

// processes is how many there are of each version.
const processes = 4

// A bench has what is measured: a server, the way to it on which all takes longer, and workers of both versions.
type bench struct {
	dir     string
	server  *measure.Server
	relay   *redistest.Relay
	host    host
	workers map[string][]*worker // by version
	keys    int                  // that were used so far
	part    func() error         // ends the crowd that is there
}

// The versions.
const (
	tree   = "tree"
	before = "before"
)

// A host is the test that a relay is made for; here there is none.
type host struct {
	testing.TB
	undo []func()
}

func (*host) Helper()             {}
func (h *host) Cleanup(do func()) { h.undo = append(h.undo, do) }

// Fatalf is what a relay calls that cannot listen.
func (*host) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// open builds the workers and starts everything. root is the folder of the repository.
func open(ctx context.Context, root string) (_ *bench, err error) {
	b := &bench{workers: map[string][]*worker{}, part: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "turns"); err != nil {
		return nil, err
	}
	for _, v := range []struct{ name, commit, tag string }{{tree, "", ""}, {before, beforeCommit, before}} {
		program, err := earlier.Build(ctx, root, b.dir, v.name, v.commit, "benchmarks/turns/worker", "-tags", v.tag)
		if err != nil {
			return nil, err
		}
		for range processes {
			w, err := start(ctx, program)
			if err != nil {
				return nil, err
			}
			b.workers[v.name] = append(b.workers[v.name], w)
		}
	}
	return b, b.serve()
}

// serve starts a server in place of the one before. What a server has used is counted from its start: see measure.StartWatch.
func (b *bench) serve() (err error) {
	b.unserve()
	if b.server, err = measure.StartServer(); err != nil {
		return err
	}
	b.relay = redistest.NewRelay(&b.host, b.server.Addr())
	b.relay.DelayRequests(delay)
	return nil
}

// unserve ends the server and the way to it.
func (b *bench) unserve() {
	for _, undo := range b.host.undo {
		undo()
	}
	b.host.undo = nil
	if b.server != nil {
		b.server.Stop()
	}
}

// close ends all that was started.
func (b *bench) close() (err error) {
	for _, workers := range b.workers {
		for _, w := range workers {
			err = errors.Join(err, w.Stop())
		}
	}
	b.unserve()
	return errors.Join(err, os.RemoveAll(b.dir))
}

// A scene is callers who want one key.
type scene struct {
	version   string // tree, if it is empty
	way       task.Way
	processes int // 1, if it is 0
	callers   int // of each process
	hold      time.Duration
	interval  time.Duration // after which those ask again who poll; 10 ms, if it is 0
	delayed   bool          // by the relay
}

// A played scene is what was measured of it, block by block.
type played struct {
	measure.Result
	scene  scene
	blocks []turns.Shares
}

// settling is for how long a crowd has turns before they are counted: until everybody is connected, and stands where it does in the
// middle of it.
const settling = 60 * time.Millisecond

// play measures scenes side by side, and says what else the machine did.
func (b *bench) play(ctx context.Context, plan measure.Plan, scenes ...scene) ([]played, measure.Load, error) {
	if err := b.serve(); err != nil {
		return nil, measure.Load{}, err
	}
	watch := measure.StartWatch(func() []*measure.Server { return []*measure.Server{b.server} })
	began, own := time.Now(), b.cpu()
	players := make([]*player, len(scenes))
	sides := make([]measure.Side, len(scenes))
	for i, s := range scenes {
		s.processes = max(s.processes, 1)
		s.interval = cmp.Or(s.interval, interval)
		s.version = cmp.Or(s.version, tree)
		players[i] = &player{scene: s, bench: b}
		sides[i] = players[i].side()
	}
	results, err := measure.Interleave(ctx, plan, sides)
	if err := errors.Join(err, b.part()); err != nil {
		return nil, measure.Load{}, err
	}
	b.part = func() error { return nil }
	load, err := watch.End(ctx)
	if err != nil {
		return nil, measure.Load{}, err
	}
	// The workers are no others.
	used := float64(b.cpu()-own) / float64(time.Since(began)*time.Duration(runtime.NumCPU()))
	load.Others, load.Slow = max(0, load.Others-used), measure.Slowness(results)
	all := make([]played, len(scenes))
	for i, p := range players {
		all[i] = p.played(results[i])
	}
	return all, load, nil
}

// cpu is the processor time of all workers so far.
func (b *bench) cpu() (sum time.Duration) {
	for _, workers := range b.workers {
		readings, err := all(workers, task.Order{Do: task.Weigh})
		if err != nil {
			return 0
		}
		for _, r := range readings {
			sum += r.CPU
		}
	}
	return sum
}
