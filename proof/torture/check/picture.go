package check

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// mostPictures is how many findings of a history are drawn.
const mostPictures = 5

// Picture draws the history around each of the first findings, one HTML file for each in the folder, which must exist:
// 1-exclusion.html. Processes are rows, what they ask for are lines, windows are bars in the colour of their key, faults are
// bands, and a process that did not run is hatched. For a breach of Linear there is also porcupine's own picture of the whole
// history, linear.html.
func Picture(h *history.History, found []Finding, folder string) error {
	r := newRound(h)
	searched := false
	for i, f := range found[:min(len(found), mostPictures)] {
		name := filepath.Join(folder, fmt.Sprintf("%d-%s.html", i+1, f.Promise))
		if err := os.WriteFile(name, []byte(r.draw(f)), 0o644); err != nil {
			return err
		}
		if f.Promise == Linear && !searched {
			searched = true
			if err := r.drawOrder(filepath.Join(folder, "linear.html")); err != nil {
				return err
			}
		}
	}
	return nil
}

// drawOrder has porcupine draw the part of the history that has no order.
func (r *round) drawOrder(path string) error {
	for _, part := range r.steps().parts() {
		m := model(part.keys)
		result, info := porcupine.CheckOperationsVerbose(m, part.ops, linearLimit)
		if result == porcupine.Illegal {
			return porcupine.VisualizePath(m, info, path)
		}
	}
	return nil
}

// draw makes the page of one finding.
func (r *round) draw(f Finding) string {
	d := r.drawing(f)
	for _, process := range d.processes {
		d.addProcess(r, process)
	}
	return d.page(f)
}

// drawing begins a picture of the time and the processes of a finding.
func (r *round) drawing(f Finding) *drawing {
	d := &drawing{colours: map[string]int{}, mentioned: map[id]bool{}}
	if len(f.Events) == 0 {
		return d
	}
	from, to := f.Events[0].At, f.Events[0].At
	for _, e := range f.Events {
		from, to = min(from, e.At), max(to, e.At)
		if e.Until > 0 && e.Until < to+10*time.Second {
			to = max(to, e.Until)
		}
		if e.Process > 0 && !slices.Contains(d.processes, e.Process) {
			d.processes = append(d.processes, e.Process)
		}
		if e.Op > 0 && e.Process > 0 {
			d.mentioned[id{e.Process, e.Op}] = true
		}
	}
	slices.Sort(d.processes)
	margin := max((to-from)/20, 5*time.Millisecond)
	d.span = span{from - margin, to + margin}
	for _, f := range r.faults {
		if f.overlaps(d.span) {
			d.band(f.span)
		}
	}
	return d
}

// addProcess adds the rows of a process: what it asked for, and the windows of its locks.
func (d *drawing) addProcess(r *round, process int) {
	top := d.height
	d.title(fmt.Sprintf("process %d", process))
	lines := &lanes{}
	for i := range r.ops {
		o := &r.ops[i]
		if o.Process != process || !(span{o.At, o.End}).overlaps(d.span) {
			continue
		}
		d.operation(lines.place(o.At, o.End), o)
	}
	d.height += lines.count() * lineHeight
	bars := &lanes{}
	base := d.height
	for _, w := range r.windowsOf(process) {
		if w.overlaps(d.span) {
			d.window(base, bars.place(w.begin, w.end), w)
		}
	}
	d.height += bars.count() * barHeight
	for _, s := range r.stalls[process] {
		if s.overlaps(d.span) {
			d.stall(top, s)
		}
	}
	if at, ok := r.killed[process]; ok && at >= d.span.begin && at <= d.span.end {
		d.mark(top, at, "killed")
	}
	d.height += gap
}

// windowsOf returns the windows of all locks of a process, and of what they left, in the order in which they begin.
func (r *round) windowsOf(process int) (windows []*tenure) {
	for _, h := range r.holds {
		if h.id.process == process {
			windows = slices.Concat(windows, h.windows, h.kept)
		}
	}
	slices.SortStableFunc(windows, func(a, b *tenure) int { return cmp.Compare(a.begin, b.begin) })
	return windows
}

// lanes put spans below one another where they overlap.
type lanes struct{ ends []time.Duration }

// place returns the first lane that is free.
func (l *lanes) place(begin, end time.Duration) int {
	for i := range l.ends {
		if l.ends[i] < begin {
			l.ends[i] = end
			return i
		}
	}
	l.ends = append(l.ends, end)
	return len(l.ends) - 1
}

func (l *lanes) count() int { return len(l.ends) }
