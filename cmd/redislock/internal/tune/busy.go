package tune

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

const (
	probePause = 5 * time.Millisecond
	punctual   = time.Millisecond // by how much every timer is late
)

// lateness finds out whether this process gets a processor when it wants one. Until ctx ends it sleeps for a moment again and again.
// It returns for how long in all it was late when it woke up, of the time that it has watched.
func lateness(ctx context.Context, sleep func(context.Context, time.Duration) bool) (late, watched time.Duration) {
	for began := time.Now(); sleep(ctx, probePause); began = time.Now() {
		slept := time.Since(began)
		watched += slept
		late += max(0, slept-probePause-punctual)
	}
	return late, watched
}

// A business says how much the machine had to do while the load was played.
type business struct {
	Late float64 // the share of time that processes of the load have waited for a processor when they wanted one
	Own  float64 // how much of all processors the load itself has used, as a share
}

const (
	mostLate = 0.10
	mostOwn  = 0.80
)

// businessOf looks at all that was played.
func businessOf(all part, here time.Duration) business {
	b := business{}
	if all.Watched > 0 {
		b.Late = float64(all.Late) / float64(all.Watched)
	}
	if all.Length > 0 {
		b.Own = float64(all.CPU+here) / (float64(all.Length) * float64(runtime.NumCPU()))
	}
	return b
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
