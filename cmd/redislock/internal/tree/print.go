package tree

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// glyphs are what pictures are made of.
type glyphs struct{ branch, last, stem, gap, arrow, dots string }

var (
	boxes = glyphs{"├─ ", "└─ ", "│  ", "   ", "→", "…"}
	plain = glyphs{"|- ", "`- ", "|  ", "   ", "->", "..."}
)

// A printer writes a view for people.
type printer struct {
	*view
	names   *names
	screen  *cli.Screen // for its colours
	glyphs  glyphs
	most    int                                         // of each list; 0: all
	width   int                                         // of a line; 0: any
	propose func(command string, more ...string) string // a command line
	only    bool                                        // the deadlocks
	w       *bufio.Writer
}

func (p *printer) print(to io.Writer) error {
	p.w = bufio.NewWriter(to)
	var rows []row
	if !p.only {
		rows = grow(p.model, p.most)
	}
	numbers := labels(rows)
	for i, r := range rows {
		if i > 0 && len(r.stems) == 0 {
			p.say("")
		}
		p.row(rows, i, numbers)
	}
	if len(rows) > 0 {
		p.say("")
	}
	p.summary()
	p.printDeadlocks()
	return p.w.Flush()
}

func (p *printer) say(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) } //nolint:errcheck // Flush tells

func (p *printer) row(rows []row, i int, numbers map[int]int) {
	r := rows[i]
	lead, tail := p.lead(r), ""
	if isDefined(rows, i) && numbers[r.party] > 0 {
		tail = fmt.Sprintf(" [%d]", numbers[r.party])
	}
	if r.refers != nobody {
		tail = fmt.Sprintf(", see [%d]", numbers[r.refers])
		if numbers[r.refers] == 0 {
			tail = ", not drawn"
		}
	}
	switch r.kind {
	case rowMore:
		p.say("%s%s %s more", lead, p.glyphs.dots, count.Number(r.count))
	case rowMoreTrees:
		p.say("%s %s more wait for others: --waiters 0 draws all", p.glyphs.dots, count.Number(r.count))
	case rowRoot:
		p.fit(lead, p.names.of[r.party], tail, p.mark(r.party))
	case rowKey:
		p.fit(lead, p.states[r.state].Key, p.hold(r)+tail, "")
	case rowLeft:
		p.fit(lead, p.states[r.state].Key, p.leftUntil(r.state), "")
	case rowWaiter:
		name := p.names.of[r.party]
		if caller := p.parties[r.party].caller; r.refers != nobody && caller != "" {
			name = caller // the rest stands where this refers to
		}
		p.fit(lead+place(r.group), name, p.wish(r)+tail, p.mark(r.party))
	}
}

// lead is what stands before a row.
func (p *printer) lead(r row) string {
	var b strings.Builder
	for i, follows := range r.stems {
		b.WriteString(map[[2]bool]string{
			{true, true}: p.glyphs.branch, {true, false}: p.glyphs.last,
			{false, true}: p.glyphs.stem, {false, false}: p.glyphs.gap,
		}[[2]bool{i == len(r.stems)-1, follows}])
	}
	return b.String()
}

// fit writes a line, and shortens the name in it until it fits.
func (p *printer) fit(lead, name, tail, mark string) {
	most := 0
	if p.width > 0 {
		most = max(12, p.width-utf8.RuneCountInString(lead+tail+mark))
	}
	if mark != "" {
		mark = p.screen.Paint(cli.Red, mark)
	}
	p.say("%s%s%s%s", lead, p.names.show(name, most), tail, mark)
}

// mark says that a party is in a deadlock.
func (p *printer) mark(party int) string {
	i := p.marks[party]
	if i == 0 {
		return ""
	}
	if p.deadlocks[i-1].certain {
		return fmt.Sprintf(" ! deadlock %d", i)
	}
	return fmt.Sprintf(" ? deadlock %d", i)
}

// hold says how the party holds the key, or that it is the first in line.
func (p *printer) hold(r row) string {
	s, others, text := &p.states[r.state], 0, ""
	switch {
	case s.Mode == redislock.ModeForeign:
		return ", foreign: " + cli.Foreign(*s) + ", first in line"
	case !r.held:
		return ", first in line"
	}
	for h, party := range p.holders[r.state] {
		if party != r.party || text != "" {
			others++
			continue
		}
		holder := s.Holders[h]
		text = ", held to " + string(s.Mode)
		if !holder.Since.IsZero() {
			text += " for " + p.age(holder.Since)
		}
		text += fmt.Sprintf(", %s left", cli.Duration(holder.TTL))
	}
	switch others {
	case 0:
		return text
	case 1:
		return text + ", with another"
	}
	return text + fmt.Sprintf(", with %s others", count.Number(others))
}

// leftUntil says for how long a key stays taken that nobody holds any more.
func (p *printer) leftUntil(state int) string {
	holder := p.states[state].Holders[0]
	return fmt.Sprintf(", left by its holder, free in %s", cli.Duration(holder.TTL))
}

// place says where a waiter stands.
func place(g group) string {
	switch {
	case g.last == 0:
		return "intent: "
	case g.first == g.last:
		return fmt.Sprintf("%d. ", g.first)
	}
	return fmt.Sprintf("%d-%d. ", g.first, g.last)
}

// wish says what a waiter wants, and since when.
func (p *printer) wish(r row) string {
	switch since := p.requests[r.group.request].since; {
	case r.group.last == 0:
		return ", to write"
	case r.group.first != r.group.last:
		return fmt.Sprintf(", to %s, %s times, up to %s", r.group.mode, count.Number(r.group.size()), p.age(since))
	default:
		return fmt.Sprintf(", to %s, %s", r.group.mode, p.age(since))
	}
}

func (p *printer) age(since time.Time) string { return cli.Duration(max(0, p.now.Sub(since))) }

// summary says how much there is, and what cannot be seen.
func (p *printer) summary() {
	held, waited, unknown := 0, 0, 0
	for state := range p.states {
		if len(p.holders[state]) > 0 {
			held++
		}
		if p.intents[state] != nobody || len(p.line[state]) > 0 {
			waited++
		}
	}
	for i := range p.parties {
		if !p.parties[i].isKnown() {
			unknown++
		}
	}
	p.say("%s held, %s waited for, by %s.", count.Of(held, "key"), count.Of(waited, "key"), count.Of(len(p.requests), "request"))
	if p.gone > 0 {
		p.say("%s gone, and passed over.", count.Of(p.gone, "waiter"))
	}
	if unknown > 0 {
		p.say("%s neither metadata nor a caller's id: which belong together is not known.", count.Either(unknown, "lock or waiter has", "locks and waiters have"))
	}
}
