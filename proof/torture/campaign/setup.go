package campaign

import (
	"fmt"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// A Setup is how the servers of a topology are started.
type Setup struct {
	Topology   world.Topology
	Kind       redistest.Kind
	Replicated bool // every Client waits for all replicas, where there are some
	MinUptime  bool // every Client waits until the server has run for longer than any lease
}

// SetupOf chooses by the seed of a campaign.
func SetupOf(seed uint64, topology world.Topology) Setup {
	rng := Plan{Seed: seed, Topology: topology}.rng("setup", 0)
	s := Setup{
		Topology: topology, Kind: redistest.Redis, Replicated: rng.IntN(2) == 0, MinUptime: rng.IntN(3) == 0,
	}
	if rng.IntN(2) == 0 {
		s.Kind = redistest.Valkey
	}
	return s
}

func (s Setup) String() string {
	text := fmt.Sprintf("%s with %s", s.Topology, s.Kind)
	if s.Replicated {
		text += ", waits for all replicas"
	}
	if s.MinUptime {
		text += ", with MinUptime"
	}
	return text
}
