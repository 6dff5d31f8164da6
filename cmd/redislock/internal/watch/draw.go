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
	rows   []row // in order
	totals string
	status status
	colour bool
}

// totals are what there is to say of all keys together; more says that there are keys that the table has no room for.
func totals(rows []row, more bool) string {
	var held, read, lines, waiting int
	var longest time.Duration
	var rate float64
	levels := make(map[level]int)
	for _, r := range rows {
		if r.isHeld() {
			held++
		}
		if r.Mode == redislock.ModeRead {
			read++
		}
		if r.waiting > 0 {
			lines++
		}
		waiting += r.waiting
		longest = max(longest, r.longest)
		rate += r.rate
		levels[r.level]++
	}
	text := count.Of(len(rows), "key")
	if more {
		text += " and more"
	}
	text += fmt.Sprintf(": %d held (%d read), %s, %s", held, read, count.Of(lines, "line"), count.Of(waiting, "waiter"))
	if waiting > 0 {
		text += ", longest " + cli.Duration(longest)
	}
	if rate > 0 {
		text += fmt.Sprintf(", >%.1f hand-offs/s", rate)
	}
	for _, l := range []level{stuck, slow} {
		if levels[l] > 0 {
			text += fmt.Sprintf(", %d %s", levels[l], l)
		}
	}
	return text
}

// draw makes a picture: what a terminal is told so that it shows it.
func draw(f frame) string {
	p := &painter{f.view.width, make([]string, max(0, f.view.height)), f.colour}
	if f.view.help {
		for y, text := range strings.Split(help, "\n") {
			p.line(y, normal, text)
		}
	} else {
		p.list(f)
	}
	if f.view.height > 1 {
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
func (p *painter) list(f frame) {
	v, y := &f.view, 0
	if v.height > 3 {
		p.line(y, bold, f.totals)
		y++
	}
	shown := v.shown(f.rows)
	fields := fit(v.width, shown)
	if v.height > 2 {
		p.header(y, v.sort, fields)
		y++
	}
	cursor := v.index(f.rows)
	for i, r := range shown {
		p.row(y+i, fields, r, v.top+i == cursor)
	}
	if len(shown) == 0 {
		text := "no key is locked"
		if f.status.searching {
			text = "searching"
		}
		p.line(y, dim, text)
	}
	if v.height > 4 && cursor < len(f.rows) {
		r := f.rows[cursor]
		if r.why != "" {
			p.line(v.height-2, styleOf(r.level), cells.Short(cli.Text(r.Key), v.width/3), ": "+r.why)
		}
	}
}

// header draws the titles. That of the column that is sorted by has a sign; for that which has no title it is the first.
func (p *painter) header(y, sort int, fields []column) {
	first, sorted := " ", columns[sort].title
	if sorted == "" {
		first = "<"
	}
	p.fields(y, reverse, first, fields, func(f column) string {
		if f.title == sorted {
			return f.title + "<"
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

// bottom draws the last line: the status, and on the right what to press.
func (p *painter) bottom(f frame) {
	v, text, s := &f.view, f.status.String(), dim
	switch {
	case v.paused:
		text, s = "paused | "+text, warning
	case f.status.away != nil || f.status.search != nil:
		s = alarm
	}
	y := v.height - 1
	p.line(y, s, text)
	const hint = "h help, q quit"
	if x := v.width - len(hint); cells.Width(text)+2 <= x {
		p.lines[y] += fmt.Sprintf("\x1b[%dG%s%s", x+1, p.paint(dim), hint)
	}
}
