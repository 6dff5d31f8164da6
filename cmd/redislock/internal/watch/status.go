package watch

import (
	"fmt"
	"strings"
	"time"
)

// A status is what there is to say of the server and of the search.
type status struct {
	server    string
	budget    int
	searching bool    // the search has not gone through all keys yet
	part      float64 // how far it is
	seen      bool    // there was a look that has seen something
	away      error   // why the server does not answer; nil: it does
	since     time.Time
	search    error // why the search goes wrong
}

func (s status) String() string {
	if s.away != nil {
		return fmt.Sprintf("away since %s, trying again: %s: %s", s.since.Format(time.TimeOnly), s.server, oneLine(s.away))
	}
	if s.search != nil {
		return "cannot search: " + oneLine(s.search)
	}
	text := fmt.Sprintf("%s | at most %d commands/s", s.server, s.budget)
	if s.searching {
		text += fmt.Sprintf(" | searching, %.0f %%", 100*s.part)
	}
	return text
}

// oneLine makes an error fit to be shown.
func oneLine(err error) string {
	return strings.ToValidUTF8(strings.Join(strings.Fields(err.Error()), " "), "?")
}

// take takes in a sample. An error ends the command: if the user may not look at all, there is nothing to wait for.
func (w *watch) take(one sample) error {
	w.table.observe(one)
	st := &w.status
	if one.found {
		st.search, st.part, st.searching = one.err, one.part, st.searching && !one.passed
		if st.searching && isRefusal(one.err) {
			return one.err
		}
		return nil
	}
	st.seen = st.seen || one.err == nil || len(one.states) > 0
	switch {
	case one.err == nil:
		st.away = nil
	case isRefusal(one.err) && !st.seen:
		return one.err
	default:
		if st.away == nil {
			st.since = one.at
		}
		st.away = one.err
	}
	return nil
}

// look asks for a look at the keys that are shown, and at others if there is budget left.
func (w *watch) look(shown []row) {
	keys := make([]string, len(shown))
	for i, r := range shown {
		keys[i] = r.Key
	}
	w.sampler.ask(w.table.choose(keys, w.sampler.looks.rate*w.every.Seconds()))
}

// sortRows makes the rows anew, and sorts them by a column.
func (w *watch) sortRows(by int) {
	w.rows = w.table.rows()
	order(w.rows, by)
}
