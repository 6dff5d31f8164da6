package world_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

var full = flag.Bool("full", false, "every fault strikes in every topology, on both kinds of servers: some minutes")

// Every fault of every topology ends, can be healed, and leaves nothing.
func TestEvery(t *testing.T) {
	if !*full {
		t.Skip("see proof/CONTRIBUTING.md, \"The campaign\": it needs -full, and some minutes")
	}
	t.Parallel()
	for _, topology := range world.Topologies() {
		for _, kind := range []redistest.Kind{redistest.Redis, redistest.Valkey} {
			t.Run(string(topology)+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				w := world.Start(t, topology, kind)
				u := newUser(t, w)
				u.works()
				for i, n := range w.Nemeses() {
					start := time.Now()
					if err := n.Strike(rand.New(rand.NewPCG(uint64(i), 7)), 2*brief); err != nil {
						t.Errorf("%s: %v", n.Name, err)
					}
					struck := time.Since(start)
					heal(t, u)
					t.Logf("%s: %v, healed after %v", n.Name, struck.Round(time.Millisecond), time.Since(start).Round(time.Millisecond))
				}
			})
		}
	}
}
