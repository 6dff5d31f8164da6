package world

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// breaks are what a fault of a topology breaks, by name. No server runs.
func breaks(topology Topology, options ...Option) map[string][]check.Promise {
	w := &world{hosts: []*host{{clock: &hostClock{}}}, target: Target{Topology: topology}}
	switch topology {
	case Replicas:
		w.target.Replicas = 2
		w.own = w.replicaFaults
	case Sentinel:
		w.own = (&sentinels{world: w}).faults
	case Cluster:
		w.own = (&cluster{world: w}).faults
	case Ring:
		w.own = w.ringFaults
	case Quorum3, Quorum5:
		w.own = w.quorumFaults
	}
	for _, o := range options {
		o(&w.target)
	}
	all := map[string][]check.Promise{}
	for _, n := range w.Nemeses() {
		all[n.Name] = n.Breaks
	}
	return all
}

// The README says after what there may be two holders: nothing else may break exclusion, or it would not be checked.
func TestWhatBreaksExclusion(t *testing.T) {
	t.Parallel()
	data := []string{"restart-empty", "flush", "delete", "evict", "clock-ahead", "rights-of-guards"}
	failovers := []string{"failover-kill", "failover-stop"}
	shards := []string{
		"refuse", "blackhole", "delay-requests", "delay-replies", "drop-replies", "hold", "restart", "pause-all", "busy-script",
		"stop-long", "shard-away", "shard-killed",
	}
	for _, c := range []struct {
		name     string
		topology Topology
		options  []Option
		want     [][]string
	}{
		{"single", Single, nil, [][]string{data}},
		{"single with MinUptime", Single, []Option{MinUptime(time.Second)}, [][]string{data[1:]}},
		{"replicas", Replicas, nil, [][]string{data, {"replica-clock"}}},
		{"sentinel", Sentinel, nil, [][]string{data, failovers, {"failover-planned"}}},
		{"sentinel with Replicas", Sentinel, []Option{Replicated()}, [][]string{data}},
		{"cluster", Cluster, nil, [][]string{data, failovers, {"masters-stop"}}},
		{"cluster with Replicas", Cluster, []Option{Replicated()}, [][]string{data}},
		{"ring", Ring, nil, [][]string{data, shards}},
		{"quorum", Quorum3, nil, [][]string{data}},
	} {
		var got []string
		for name, broken := range breaks(c.topology, c.options...) {
			if slices.Contains(broken, check.Exclusion) {
				got = append(got, name)
			}
			if slices.Contains(broken, check.Losses) {
				t.Errorf("%s: %s: no fault keeps a holder from learning of its loss", c.name, name)
			}
			if slices.Contains(broken, check.Progress) || slices.Contains(broken, check.Clean) {
				t.Errorf("%s: %s: every key ends with its lease", c.name, name)
			}
		}
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(slices.Concat(c.want...))); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, want)
		}
	}
}

// A release that is lost leaves a key locked for as long as the lease, which is for ever if none ends.
func TestWhatStaysLocked(t *testing.T) {
	t.Parallel()
	all := breaks(Sentinel, Endless())
	for _, name := range []string{"failover-kill", "failover-planned", "rights", "rights-of-guards"} {
		for _, p := range []check.Promise{check.Progress, check.Clean, check.Linear} {
			if !slices.Contains(all[name], p) {
				t.Errorf("%s breaks %q, want %s, too", name, all[name], p)
			}
		}
	}
	if got := all["cut-replies"]; len(got) > 0 {
		t.Errorf("a reply that is lost breaks %q", got)
	}
}
