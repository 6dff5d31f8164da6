package watch

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// A frame is everything that a picture is made of.
type frame struct {
	view   view
	rows   []row // those that match the filter, in order
	totals totals
	status status
	colour bool
}

// totals are what there is to say of all keys together.
type totals struct {
	keys, held, read, lines, waiting int
	longest                          time.Duration
	rate                             float64
	slow, stuck                      int
	more                             bool // there are keys that the table has no room for
}

func totalsOf(rows []row, more bool) totals {
	t := totals{keys: len(rows), more: more}
	for _, r := range rows {
		if r.mode == redislock.ModeWrite || r.mode == redislock.ModeRead {
			t.held++
		}
		if r.mode == redislock.ModeRead {
			t.read++
		}
		if r.waiting > 0 {
			t.lines++
		}
		t.waiting += r.waiting
		t.longest = max(t.longest, r.longest)
		t.rate += r.rate
		switch r.level {
		case slow:
			t.slow++
		case stuck:
			t.stuck++
		}
	}
	return t
}

func (t totals) String() string {
	more := ""
	if t.more {
		more = " and more"
	}
	text := fmt.Sprintf("%s%s: %d held (%d read), %s, %s", count.Of(t.keys, "key"), more, t.held, t.read, count.Of(t.lines, "line"), count.Of(t.waiting, "waiter"))
	if t.waiting > 0 {
		text += ", longest " + cli.Duration(t.longest)
	}
	if t.rate > 0 {
		text += fmt.Sprintf(", >%.1f hand-offs/s", t.rate)
	}
	if t.stuck > 0 {
		text += fmt.Sprintf(", %d stuck", t.stuck)
	}
	if t.slow > 0 {
		text += fmt.Sprintf(", %d slow", t.slow)
	}
	return text
}

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

// draw makes a picture: what a terminal is told so that it shows it. It tells the view how many lines there are to scroll.
func draw(f *frame) string {
	v := &f.view
	p := &painter{v.width, make([]string, max(0, v.height)), f.colour}
	switch v.page {
	case keyPage:
		p.page(v, keyLines(f.rows, v.selected))
	case helpPage:
		p.page(v, helpLines)
	default:
		p.list(f)
	}
	if v.height > 1 {
		p.bottom(f)
	}
	for y, text := range p.lines {
		p.lines[y] = cmp.Or(text, erase)
	}
	return strings.Join(p.lines, "\r\n")
}

// A style is how a text looks: parameters of the sequence that terminals know as SGR.
type style string

// The styles.
const (
	normal  style = ""
	bold    style = ";1"
	dim     style = ";2"
	reverse style = ";7"
	alarm   style = ";1;31" // red
	warning style = ";33"   // yellow
)

// paint begins a style. Without colours red is bold, and yellow nothing.
func (p *painter) paint(s style) string {
	if !p.colour {
		s = style(strings.NewReplacer(";31", "", ";33", "").Replace(string(s)))
	}
	return "\x1b[0" + string(s) + "m"
}

// erase ends a line that does not fill the screen. It is not for others: behind the last column terminals would erase that.
const erase = "\x1b[0m\x1b[K"

// A painter draws lines on a screen, with colours or without.
type painter struct {
	width  int
	lines  []string
	colour bool
}

// line draws a line of parts, as far as there is room.
//
// Terminals do not agree about how wide some characters are. So behind a part that is not ASCII it is said where the next one
// begins.
func (p *painter) line(y int, s style, parts ...string) {
	if y >= len(p.lines) {
		return
	}
	x, begin := 0, p.paint(s)
	var b strings.Builder
	b.WriteString(begin)
	for _, part := range parts {
		part = cells.Head(part, p.width-x)
		b.WriteString(part)
		x += cells.Width(part)
		if x < p.width && len(part) != utf8.RuneCountInString(part) {
			fmt.Fprintf(&b, "%s\x1b[%dG%s", erase, x+1, begin)
		}
	}
	if x < p.width {
		b.WriteString(erase)
	}
	p.lines[y] = b.String()
}

// list draws the table of keys.
func (p *painter) list(f *frame) {
	v, y := &f.view, 0
	if v.height > 3 {
		p.line(y, bold, f.totals.String())
		y++
	}
	shown := v.shown(f.rows)
	fields := fit(v.width, shown)
	if v.height > 2 {
		p.header(y, v, fields)
		y++
	}
	cursor := v.index(f.rows)
	for i, r := range shown {
		p.row(y+i, fields, r, v.top+i == cursor)
	}
	if len(shown) == 0 {
		p.line(y, dim, emptyText(f))
	}
	if v.height > 4 && cursor < len(f.rows) {
		r := f.rows[cursor]
		if r.why != "" {
			p.line(v.height-2, styleOf(r.level), cells.Short(cli.Text(r.key), v.width/3), ": "+r.why)
		}
	}
}

// emptyText is what a table without rows says.
func emptyText(f *frame) string {
	switch {
	case f.view.filter != "":
		return "no key matches the filter"
	case f.status.searching:
		return "searching"
	}
	return "no key is locked"
}

// header draws the titles. That of the column that is sorted by has a sign: "<" if it begins with the first, ">" if it is reversed.
func (p *painter) header(y int, v *view, fields []column) {
	first, sign := " ", "<"
	if v.reverse {
		sign = ">"
	}
	if v.sort == 0 {
		first = sign
	}
	p.fields(y, reverse, first, fields, func(f column) string {
		if f.name == columns[v.sort].name {
			return f.title + sign
		}
		return f.title
	})
}

func (p *painter) row(y int, fields []column, r row, selected bool) {
	s := styleOf(r.level)
	if r.level == fine && r.holder == "" && r.waiting == 0 {
		s = dim
	}
	if selected {
		s += reverse
	}
	p.fields(y, s, sign(r.level), fields, func(f column) string { return f.text(r) })
}

func (p *painter) fields(y int, s style, first string, fields []column, text func(column) string) {
	parts := []string{first}
	for _, f := range fields {
		parts = append(parts, " "+cells.Fit(text(f), f.width, f.right))
	}
	p.line(y, s, parts...)
}

// sign is for those who see no colours.
func sign(l level) string { return [...]string{" ", "~", "!"}[l] }

func styleOf(l level) style { return [...]style{normal, warning, alarm}[l] }

// bottom draws the last line: the filter while it is typed, else the status.
func (p *painter) bottom(f *frame) {
	v, text, s := &f.view, f.status.String(), dim
	switch {
	case v.typing:
		text, s = "/"+v.filter+"_", bold
	case v.paused:
		text, s = "paused | "+text, warning
	case f.status.away != nil || f.status.search != nil:
		s = alarm
	case v.filter != "":
		text = "/" + v.filter + " | " + text
	}
	y := v.height - 1
	p.line(y, s, text)
	const hint = "h help, q quit"
	if x := v.width - len(hint); cells.Width(text)+2 <= x {
		p.lines[y] += fmt.Sprintf("\x1b[%dG%s%s", x+1, p.paint(dim), hint)
	}
}
