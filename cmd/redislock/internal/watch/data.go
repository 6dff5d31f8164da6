package watch

import "time"

// A data is what both kinds of output have in common: the table, fed by the sampler, and what is known of the server.
type data struct {
	*watch
	sampler *sampler
	table   *table
	status  status

	all   []row // of the table, in no order
	spent float64
	spoke time.Time // when spent was read
}

func (w *watch) newData(s *sampler) *data {
	return &data{
		watch: w, sampler: s, table: newTable(w.keys), spoke: time.Now(),
		status: status{server: s.looks.Name, budget: w.budget, searching: s.search != nil},
	}
}

// take takes in a sample. An error ends the command: if the user may not look at all, there is nothing to wait for.
func (d *data) take(one sample) error {
	d.table.observe(one)
	st := &d.status
	if one.found {
		st.search, st.part, st.searching = one.err, one.part, st.searching && !one.passed
		if st.searching && isRefusal(one.err) {
			return one.err
		}
		return nil
	}
	if one.err == nil || len(one.states) > 0 {
		st.at = one.at
	}
	switch {
	case one.err == nil:
		st.away = nil
	case isRefusal(one.err) && st.at.IsZero():
		return one.err
	default:
		if st.away == nil {
			st.since = one.at
		}
		st.away = one.err
	}
	return nil
}

// measure finds out how many commands a second were used since it was called before.
func (d *data) measure(now time.Time) {
	total := d.sampler.spent()
	if passed := now.Sub(d.spoke).Seconds(); passed > 0 {
		d.status.used = (total - d.spent) / passed
	}
	d.spent, d.spoke = total, now
}

// look asks for a look at the keys that are shown, and at others if there is budget left.
func (d *data) look(shown []row) {
	keys := make([]string, len(shown))
	for i, r := range shown {
		keys[i] = r.key
	}
	d.sampler.ask(d.table.choose(keys, d.sampler.share(d.every)))
}
