package tune

import (
	"fmt"
	"runtime"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
)

// A business says how much the machine had to do while the load was played.
type business struct {
	Late float64 // the share of time that processes of the load have waited for a processor when they wanted one
	Own  float64 // how much of all processors the load itself has used, as a share
}

const (
	mostLate = 0.10
	mostOwn  = 0.80
)

// business looks at all that was played.
func (c *contest) business() business {
	var all measure.Part
	for i := range c.results {
		all.Late += c.results[i].all.Late
		all.Watched += c.results[i].all.Watched
	}
	return business{
		Late: float64(all.Late) / float64(max(all.Watched, 1)),
		Own:  float64(c.used) / (float64(max(c.took, 1)) * float64(runtime.NumCPU())),
	}
}

// warnings says why nothing can be concluded; there are none if something can.
func (b business) warnings() (all []string) {
	if b.Late > mostLate {
		all = append(all, fmt.Sprintf("The machine was too busy to conclude: timers of the load were late for %.0f %% of the time, "+
			"and up to %.0f %% is normal. Run tune again when the machine has less to do.", 100*b.Late, 100*mostLate))
	}
	if b.Own > mostOwn {
		all = append(all, fmt.Sprintf("The load itself has used %.0f %% of the %d processors of this machine: what was measured is the machine "+
			"more than the policies. Take fewer workers, or a machine that has more processors.", 100*b.Own, runtime.NumCPU()))
	}
	return all
}
