package work_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/work"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

func TestMain(m *testing.M) {
	redistest.RegisterRole("worker", work.Role)
	redistest.Main(m)
}

// elsewhere is where some of the loads are tried beside the first of their topologies.
var elsewhere = map[world.Topology][]string{
	world.Replicas: {"sets", "tokens"},
	world.Sentinel: {"sets"},
	world.Cluster:  {"everything", "multi", "election"},
	world.Ring:     {"everything", "multi"},
	world.Quorum3:  {"multi", "election"},
}

// TestLoads plays each load until it has done all that it says it does, and looks at what it has written down and left.
// Together the loads call everything that there is to be called.
func TestLoads(t *testing.T) {
	t.Parallel()
	var all album
	t.Run("each", func(t *testing.T) { playEach(t, &all) })
	for _, g := range all.gaps(t) {
		t.Run("again for "+g.method, func(t *testing.T) { g.close(t) })
	}
}

func playEach(t *testing.T, all *album) {
	t.Helper()
	for _, load := range work.Loads() {
		topologies := load.Topologies[:1]
		for t, names := range elsewhere {
			if slices.Contains(names, load.Name) {
				topologies = append(slices.Clone(topologies), t)
			}
		}
		for _, topology := range topologies {
			t.Run(load.Name+" on "+string(topology), func(t *testing.T) {
				t.Parallel()
				target, rdbs := serve(t, topology)
				done := func(h *history.History) bool { return len(lacking(load, h)) == 0 }
				h := play(t, load, target, time.Minute, done)
				if lacks := lacking(load, h); len(lacks) > 0 {
					t.Errorf("it has not done what it says it does: %v", lacks)
				}
				t.Log(count(h))
				checkHistory(t, h, 2)
				all.add(h)
				checkLeft(t, rdbs, "resource:", "redislock:fence")
			})
		}
	}
}

// serve starts the servers of a topology, without relays.
func serve(t *testing.T, topology world.Topology) (target world.Target, rdbs []redis.Cmdable) {
	t.Helper()
	target.Topology = topology
	start := func() {
		s := redistest.Start(t, redistest.Redis)
		target.Addrs = append(target.Addrs, s.Addr())
		rdbs = append(rdbs, s.Client(t))
	}
	switch topology {
	case world.Single:
		start()
	case world.Replicas:
		start()
		host, port, _ := strings.Cut(target.Addrs[0], ":")
		redistest.Start(t, redistest.Redis, "--replicaof", host, port)
		target.Replicas = 1
	case world.Ring:
		start()
		start()
	case world.Quorum3:
		start()
		start()
		start()
	case world.Sentinel:
		s := redistest.StartSentinels(t, redistest.Redis, 1, 3)
		for _, watcher := range s.Sentinels() {
			target.Addrs = append(target.Addrs, watcher.Addr())
		}
		rdb := s.Client(t, func(o *redis.FailoverOptions) { target.Master = o.MasterName })
		rdbs = append(rdbs, rdb)
	case world.Cluster:
		c := redistest.StartCluster(t, redistest.Redis, 3, 0)
		target.Addrs = c.Addrs()
		for _, node := range c.Nodes() {
			rdbs = append(rdbs, node.Client(t))
		}
	default:
		t.Fatalf("no servers for %q", topology)
	}
	return target, rdbs
}

// play runs two processes, as goroutines, until what they have written down is enough, or the time is over.
func play(t *testing.T, load work.Load, target world.Target, most time.Duration, done func(*history.History) bool) *history.History {
	t.Helper()
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	for n := 1; n <= 2; n++ {
		c := work.Config{
			Process: n, Seed: 1, Target: target, Load: load.Name, Keys: work.Keys(target.Topology), Clients: 4,
			History: filepath.Join(folder, string(rune('0'+n))+".jsonl"),
		}
		go func() { ended <- work.Run(ctx, c) }()
	}
	for end := time.Now().Add(most); !done(read(t, folder)) && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	cancel()
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Error(err)
	}
	return read(t, folder)
}

func read(t *testing.T, folder string) *history.History {
	t.Helper()
	h, err := history.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// lacking is what a load says it does, and has not done with success yet.
func lacking(load work.Load, h *history.History) (lacks []string) {
	did := map[string]bool{}
	for _, o := range h.Operations() {
		if o.Outcome == history.OK {
			did["action "+string(o.Action)] = true
			if o.Action == history.Obtain {
				did["way "+string(o.Way)] = true
				did["package "+string(o.Package)] = true
				did["came "+string(o.Came)] = true
				did[withSet(o.Token != "")] = did[withSet(o.Token != "")] || obtains(true, true, true)(o)
			}
		}
	}
	for _, e := range h.Events {
		did["kind "+string(e.Kind)] = true
	}
	for _, k := range load.Kinds {
		lacks = append(lacks, "kind "+string(k))
	}
	for _, a := range load.Actions {
		lacks = append(lacks, "action "+string(a))
	}
	for _, c := range load.Came {
		lacks = append(lacks, "came "+string(c))
	}
	for _, w := range load.Ways {
		lacks = append(lacks, "way "+string(w))
	}
	for _, p := range load.Packages {
		lacks = append(lacks, "package "+string(p))
	}
	for _, token := range load.WithSets {
		lacks = append(lacks, withSet(token))
	}
	return slices.DeleteFunc(lacks, func(what string) bool { return did[what] })
}

func withSet(token bool) string {
	if token {
		return "WithSet with a token"
	}
	return "WithSet"
}

// count says how often everything happened.
func count(h *history.History) map[string]int {
	sum := map[string]int{}
	for _, o := range h.Operations() {
		sum[strings.TrimSpace(string(o.Action)+" "+string(o.Outcome)+" "+string(o.Came))]++
	}
	for _, e := range h.Events {
		if e.Kind != history.Call && e.Kind != history.Return {
			sum[string(e.Kind)]++
		}
	}
	return sum
}

// checkHistory looks for operations without an end, and for what nobody can make sense of.
func checkHistory(t *testing.T, h *history.History, processes int) {
	t.Helper()
	left := 0
	for _, e := range h.Events {
		if e.Kind == history.Left {
			left++
		}
	}
	if left != processes {
		t.Errorf("%d processes have left, not %d", left, processes)
	}
	for _, o := range h.Operations() {
		switch {
		case !o.Returned:
			t.Errorf("it has no Return: %+v", o)
		case o.Client == 0 || o.Outcome == "" || o.Action == "":
			t.Errorf("it does not say what or whose it is: %+v", o)
		case (o.Outcome == history.OK) != (o.Error == ""):
			t.Errorf("outcome and error do not fit: %+v", o)
		case o.Action == history.Obtain && o.Outcome == history.OK && o.Package != history.Election && !untilFits(o):
			t.Errorf("it says that it ends when it cannot: %+v", o)
		case o.Outcome == history.Failed && !slices.ContainsFunc(o.Is, allowed) && !isSlow(o):
			t.Errorf("it has failed although nothing was wrong with the servers: %+v", o)
		}
	}
}

// untilFits reports whether the deadline of a lock can be one of its ttl. The lease begins after the Call; that of an owner who
// holds the keys already may be longer.
func untilFits(o history.Operation) bool {
	return o.Until > o.At && (o.Until <= o.End+o.TTL || o.Package == history.Reentrant)
}

// allowed reports whether an error is one of an operation that came to nothing although nothing was wrong with the servers:
// its context or its time has ended, or the answer came too late for its lease.
func allowed(err string) bool {
	return err == "Cause" || err == "ErrWaitOver" || err == "ErrNotObtained"
}

// isSlow reports whether a quorum has failed because the machine is busy: a server that has not answered in time is not asked
// again before it has shown that it can.
func isSlow(o history.Operation) bool {
	return o.Package == history.Quorum && (strings.Contains(o.Error, "not answered") || strings.Contains(o.Error, "no answer"))
}

// checkLeft waits until everything has ended, and looks at what is left in the servers. What begins with one of these names
// may be: what resources and numbers were, and the lines in which processes stood that were killed.
func checkLeft(t *testing.T, rdbs []redis.Cmdable, may ...string) {
	t.Helper()
	keys := func() []string {
		all := map[string]bool{}
		for _, rdb := range rdbs {
			names, err := rdb.Keys(t.Context(), "*").Result()
			check.NoError(t, err)
			for _, key := range check.WithoutGuards(t.Context(), rdb, names...) {
				if !slices.ContainsFunc(may, func(name string) bool { return strings.HasPrefix(key, name) }) {
					all[key] = true
				}
			}
		}
		return slices.Sorted(maps.Keys(all))
	}
	check.Eventually(t, 30*time.Second, "the servers to be empty", func() bool { return len(keys()) == 0 })
}
