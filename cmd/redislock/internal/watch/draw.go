package watch

import (
	"fmt"
	"strings"
	"time"

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

// totalsOf counts.
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
	at        time.Time // of the latest look
	looked    bool
	searching bool    // the search has not gone through all keys yet
	part      float64 // how far it is
	used      float64 // commands a second
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
	if s.looked {
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

// draw makes a picture. It tells the view how many lines there are to scroll.
func draw(f *frame) *cells.Screen {
	v := &f.view
	p := painter{cells.New(v.width, v.height), f.colour}
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
	return p.Screen
}

// A painter draws on a screen, with colours or without.
type painter struct {
	*cells.Screen
	colour bool
}

func (p painter) line(y int, style cells.Style, text string) {
	if !p.colour {
		style = style.Plain()
	}
	p.Put(0, y, style, cells.Head(text, p.Width))
}

// list draws the table of keys.
func (p painter) list(f *frame) {
	v, y := &f.view, 0
	if v.height > 3 {
		p.line(y, cells.Bold, f.totals.String())
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
		p.line(y, cells.Dim, emptyText(f))
	}
	if v.height > 4 && cursor < len(f.rows) {
		r := f.rows[cursor]
		if r.why != "" {
			p.line(v.height-2, styleOf(r.level), cells.Short(cli.Text(r.key), v.width/3)+": "+r.why)
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
func (p painter) header(y int, v *view, fields []field) {
	x, sign := 2, "<"
	if v.reverse {
		sign = ">"
	}
	if v.sort == 0 {
		p.Put(0, y, cells.Bold, sign)
	}
	for _, f := range fields {
		title := f.title
		if f.name == columns[v.sort].name {
			title += sign
		}
		p.Put(x, y, cells.Reverse, cells.Fit(title, f.width, f.right))
		x += f.width + 1
	}
	p.Fill(0, y, cells.Reverse)
}

// row draws one key.
func (p painter) row(y int, fields []field, r row, selected bool) {
	style := styleOf(r.level)
	if r.level == fine && r.holder == "" && r.waiting == 0 {
		style = cells.Dim
	}
	if !p.colour {
		style = style.Plain()
	}
	if selected {
		style |= cells.Reverse
	}
	p.Fill(0, y, style)
	p.Put(0, y, style, sign(r.level))
	x := 2
	for _, f := range fields {
		p.Put(x, y, style, cells.Fit(f.text(r), f.width, f.right))
		x += f.width + 1
	}
}

// sign is for those who see no colours.
func sign(l level) string { return [...]string{" ", "~", "!"}[l] }

func styleOf(l level) cells.Style {
	return [...]cells.Style{0, cells.Yellow, cells.Red | cells.Bold}[l]
}

// bottom draws the last line: the filter while it is typed, else the status.
func (p painter) bottom(f *frame) {
	v, text, style := &f.view, f.status.String(), cells.Dim
	switch {
	case v.typing:
		text, style = "/"+v.filter+"_", cells.Bold
	case v.paused:
		text, style = "paused | "+text, cells.Yellow
	case f.status.away != nil || f.status.search != nil:
		style = cells.Red | cells.Bold
	case v.filter != "":
		text = "/" + v.filter + " | " + text
	}
	const hint = "h help, q quit"
	if !p.colour {
		style = style.Plain()
	}
	room := v.width
	if cells.Width(text)+2+len(hint) <= v.width {
		room -= 2 + len(hint)
		p.Put(room+2, v.height-1, cells.Dim, hint)
	}
	p.Put(0, v.height-1, style, cells.Head(text, room))
}
