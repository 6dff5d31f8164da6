package watch

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A line is one of a page.
type line struct {
	text  string
	style style
}

// page draws lines, as far as they were scrolled.
func (p *painter) page(v *view, lines []line) {
	room := max(min(v.height, 1), v.height-1)
	v.lines = len(lines) + 3 // room counts four lines around a list, here is one
	for y := range min(room, len(lines)-min(v.scroll, len(lines))) {
		p.line(y, lines[y+v.scroll].style, lines[y+v.scroll].text)
	}
}

// help is the page that explains.
const help = `up down j k  PgUp PgDn  g G   move
enter or ->   one key, its whole line   p or space   pause: nothing is asked
esc or <-     back; no filter           /            only what has a text
s             sort by the next column   r            the other way round
ctrl-L        draw everything anew      q or ctrl-C  end
Sort by: S urgency, K key, M mode, O holder, H held, T ttl, W waiting,
         L longest wait, N hand-offs a second

HELD     by the clock of the holder; with > since it was first seen here
TTL      of the lease; none: it has no end, so the key is foreign: no lock
WAIT     in line; 3+2: two more are gone; i: a writer waits with an intent
LONGEST  wait of those in line, by the clock of the server
HANDED/S how often another had the key than at the look before, so it is more
! stuck  the first waits for 3 leases and more, and the holder is the same;
         others wait for a key that is foreign; or it is in a certain deadlock
~ slow   the first waits for 3 leases and more; nobody in line is alive; the
         line only grows; others wait for hours; foreign; a possible deadlock
The line above the last says why, for the key under the cursor.

A row is as old as the latest look at it. Those on the screen come first,
as often as the budget allows, then the others by turns.`

// helpLines are that page.
func helpLines() []line {
	lines := []line{{"redislock watch: keys and columns", bold}}
	for text := range strings.SplitSeq(help, "\n") {
		lines = append(lines, line{text, normal})
	}
	return lines
}

// keyLines are the page of one key.
func keyLines(rows []row, key string) []line {
	lines := []line{{cli.Text(key), bold}}
	i := find(rows, key)
	if i < 0 || !rows[i].known() {
		return append(lines, line{"nothing is known of it now", dim})
	}
	r := rows[i]
	add := func(s style, format string, args ...any) {
		lines = append(lines, line{fmt.Sprintf(format, args...), s})
	}
	add(normal, "mode     %s", cli.Mode(r.KeyState))
	add(normal, "ttl      %s", ttlText(r))
	add(normal, "handed   %s a second", rateText(r))
	if r.Fence > 0 {
		add(normal, "fence    %d", r.Fence)
	}
	if r.why != "" {
		add(styleOf(r.level), "%-8s %s", cmp.Or(r.level.String(), "note"), r.why)
	}
	for i, h := range r.Holders {
		add(bold, "%-8s %s", heading(i, "holder"), holderLine(r, h))
	}
	if h := r.Intent; h != nil {
		add(normal, "intent   %s, %s left", who(h.Metadata, h.Caller), cli.Duration(h.TTL))
	}
	for i, w := range r.Line {
		s, dead := normal, ""
		if !w.Alive {
			s, dead = dim, ", gone"
		}
		add(s, "%-8s %2d  %s, to %s, since %s%s", heading(i, "line"), i+1,
			who(w.Metadata, w.Caller), w.Mode, cli.Clock(w.Since), dead)
	}
	return lines
}

// heading is the title of a list, which stands at its first line.
func heading(i int, title string) string {
	if i > 0 {
		return ""
	}
	return title
}

func holderLine(r row, h redislock.Holder) string {
	text := fmt.Sprintf("%s, %s left", who(h.Metadata, h.Caller), cli.Duration(h.TTL))
	if h.Left {
		text += ", it has left the key"
	}
	if !h.Since.IsZero() {
		return text + ", since " + cli.Clock(h.Since)
	}
	return text + ", seen for " + cli.Duration(r.together)
}
