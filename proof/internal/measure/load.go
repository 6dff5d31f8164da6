package measure

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A Load is what else the machine did while something was measured, as shares of all its processors.
type Load struct {
	Known  bool    // false where the system does not tell
	Others float64 // processes other than this one and its servers
	Steal  float64 // taken by the host of a virtual machine
	Slow   float64 // see [Slowness]; 0 if it was not measured
}

// A Watch looks at the load from its beginning to its end.
type Watch struct {
	servers func() []*Server
	machine ticks
	own     time.Duration
	began   time.Time
}

// ticks are the processor times of /proc/stat.
type ticks struct {
	known              bool
	busy, steal, total float64
}

// StartWatch begins to look. The servers are asked for when it ends, because they may be started
// later; they count from their start.
func StartWatch(servers func() []*Server) *Watch {
	text, err := os.ReadFile("/proc/stat")
	w := &Watch{servers: servers, own: processCPU(), began: time.Now()}
	if err == nil {
		w.machine = readTicks(string(text))
	}
	return w
}

// End says what the load was.
func (w *Watch) End(ctx context.Context) (Load, error) {
	own := processCPU() - w.own
	for _, s := range w.servers() {
		now, err := s.counters(ctx)
		if err != nil {
			return Load{}, err
		}
		own += now.process
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Load{}, nil //nolint:nilerr // not every system has it, and then the load is not known
	}
	available := time.Since(w.began) * time.Duration(runtime.NumCPU())
	return loadOf(w.machine, readTicks(string(text)), float64(own)/float64(available)), nil
}

// loadOf takes the share of this program from that of all.
func loadOf(before, after ticks, own float64) Load {
	total := after.total - before.total
	if !before.known || !after.known || total <= 0 {
		return Load{}
	}
	return Load{
		Known:  true,
		Others: max(0, (after.busy-before.busy)/total-own),
		Steal:  (after.steal - before.steal) / total,
	}
}

// readTicks reads the first line of /proc/stat. Interrupts count for nobody: those of the loopback
// are this program's own.
func readTicks(stat string) ticks {
	line, _, _ := strings.Cut(stat, "\n")
	words := strings.Fields(line)
	if len(words) < 9 || words[0] != "cpu" {
		return ticks{}
	}
	var at [8]float64 // user, nice, system, idle, iowait, irq, softirq, steal
	for i := range at {
		value, err := strconv.ParseFloat(words[i+1], 64)
		if err != nil {
			return ticks{}
		}
		at[i] = value
	}
	t := ticks{known: true, busy: at[0] + at[1] + at[2], steal: at[7]}
	for _, value := range at {
		t.total += value
	}
	return t
}

// Average is the load average of the last minute, and whether that is more than the processors of the machine
// carry beside what is measured. It is "not known" where the system does not tell.
func Average() (average string, busy bool) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known", false
	}
	average, _, _ = strings.Cut(string(text), " ")
	return average, tooMuch(average, runtime.NumCPU())
}

func tooMuch(average string, processors int) bool {
	value, err := strconv.ParseFloat(average, 64)
	return err == nil && value > bears[OnCPU]*float64(processors)
}

// String says what the load was.
func (l Load) String() string {
	if !l.Known {
		return "not known" + l.slow()
	}
	text := fmt.Sprintf("others %.0f %%", 100*l.Others)
	if l.Steal >= .005 {
		text += fmt.Sprintf(", stolen %.0f %%", 100*l.Steal)
	}
	return text + l.slow()
}

func (l Load) slow() string {
	if l.Slow < 1.1 {
		return ""
	}
	return fmt.Sprintf(", processors slower by %.1f ×", l.Slow)
}
