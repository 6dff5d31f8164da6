package tune

import (
	"fmt"
	"runtime"
	"time"
)

const (
	mostLate = 0.10 // of the time, timers of the load
	mostOwn  = 0.80 // of all processors, the load itself
)

// warnings says why nothing can be concluded because of what the machine had to do; there are none if something can.
func (c *contest) warnings() (all []string) {
	var late, watched time.Duration
	for i := range c.results {
		late += c.results[i].all.Late
		watched += c.results[i].all.Watched
	}
	if share := float64(late) / float64(max(watched, 1)); share > mostLate {
		all = append(all, fmt.Sprintf("The machine was too busy to conclude: timers of the load were late for %.0f %% of the time, "+
			"and up to %.0f %% is normal. Run tune again when the machine has less to do.", 100*share, 100*mostLate))
	}
	if share := float64(c.used) / float64(max(c.took, 1)) / float64(runtime.NumCPU()); share > mostOwn {
		all = append(all, fmt.Sprintf("The load itself has used %.0f %% of the %d processors of this machine: what was measured is the machine "+
			"more than the policies. Take fewer workers, or a machine that has more processors.", 100*share, runtime.NumCPU()))
	}
	return all
}
