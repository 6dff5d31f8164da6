package world

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// An Option changes how a world is started.
type Option func(*Target)

// Endless has leases be so long that none ends.
func Endless() Option { return func(t *Target) { t.Endless = true } }

// MinUptime has every Client be made with WithMinUptime, of no less than the longest ttl in use, and the longest time for which
// keys outlive their lock. Then a server that restarts without its data makes no second holder.
func MinUptime(d time.Duration) Option { return func(t *Target) { t.MinUptime = d } }

// Replicated has every Client of Sentinel and Cluster wait for all replicas, so that a fail-over loses no lock.
func Replicated() Option { return func(t *Target) { t.Replicas = all } }

// all stands for as many replicas as there are, until that is known.
const all = -1

// Start runs the servers of a topology, of one kind, for the time of the test. Without the program the test is skipped, see
// [redistest.Need].
func Start(tb testing.TB, topology Topology, kind redistest.Kind, options ...Option) World {
	tb.Helper()
	w := &world{
		reporter: &reporter{TB: tb}, kind: kind, patience: healTime,
		target: Target{Topology: topology, Via: map[string]string{}, Username: username, Password: password},
	}
	for _, o := range options {
		o(&w.target)
	}
	build, ok := map[Topology]func(){
		Single:   func() { w.independent(1) },
		Replicas: w.withReplicas,
		Sentinel: w.watched,
		Cluster:  w.sharded,
		Ring:     func() { w.independent(3); w.own = w.ringFaults },
		Quorum3:  func() { w.independent(3); w.own = w.quorumFaults },
		Quorum5:  func() { w.independent(5); w.own = w.quorumFaults },
	}[topology]
	if !ok {
		tb.Fatalf("world: no topology %q", topology)
	}
	build()
	if w.target.Replicas == all {
		w.target.Replicas = 0
	}
	w.run()
	w.expect()
	return w
}

// independent starts n servers that do not know each other.
func (w *world) independent(n int) {
	w.Helper()
	for range n {
		h := w.skewed()
		w.hosts = append(w.hosts, h)
		w.target.Addrs = append(w.target.Addrs, h.Addr())
	}
	w.serving = func() ([]*host, error) { return w.hosts, nil }
	w.settled = func() error { return nil }
}

// skewed starts a server with a clock and a disk of its own.
func (w *world) skewed(extraArgs ...string) *host {
	w.Helper()
	server, clock := redistest.StartSkewed(w.reporter, w.kind, append(serverArgs(), extraArgs...)...)
	return w.host(server, clock)
}

// serverArgs are those of every server that keeps locks. Whatever it has answered is on its disk.
func serverArgs() []string {
	args := []string{"--appendonly", "yes", "--appendfsync", "always", "--user", username, "on", ">" + password}
	return append(args, rights()...)
}

// lost are the promises that do not hold any more when locks are gone before their time: a second holder is possible, and
// so is an error of the first that says so. Lines are as a rule gone as well.
func lost() []check.Promise {
	return []check.Promise{check.Exclusion, check.Linear, check.Order, check.Answers}
}

// kept are the promises that do not hold if a key that was released may stay locked until the end of its lease.
func (w *world) kept() []check.Promise {
	if w.target.Endless {
		return []check.Promise{check.Linear, check.Progress, check.Clean}
	}
	return []check.Promise{check.Linear}
}
