package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A status is what there is to say of the server and of the view.
type status struct {
	server    string
	now       time.Time
	at        time.Time // of the latest look; zero: there was none
	searching bool      // the search has not gone through all keys yet
	part      float64   // how far it is
	used      float64   // commands a second
	budget    int
	away      error // why the server does not answer; nil: it does
	since     time.Time
	search    error // why the search goes wrong
}

func (s status) String() string {
	if s.away != nil {
		return fmt.Sprintf("away since %s (%s), trying again: %s: %s",
			s.since.Format(time.TimeOnly), cli.Duration(s.now.Sub(s.since)), s.server, oneLine(s.away))
	}
	if s.search != nil {
		return "cannot search: " + oneLine(s.search)
	}
	text := fmt.Sprintf("%s | %.0f of %d commands/s", s.server, s.used, s.budget)
	if !s.at.IsZero() {
		text += " | " + cli.Duration(s.now.Sub(s.at)) + " ago"
	}
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
func (w *watch) measure(now time.Time) {
	total := w.sampler.spent()
	if passed := now.Sub(w.spoke).Seconds(); passed > 0 {
		w.status.used = (total - w.spent) / passed
	}
	w.spent, w.spoke = total, now
}

// look asks for a look at the keys that are shown, and at others if there is budget left.
func (w *watch) look(shown []row) {
	keys := make([]string, len(shown))
	for i, r := range shown {
		keys[i] = r.Key
	}
	w.sampler.ask(w.table.choose(keys, w.sampler.share(w.every)))
}
