package tree

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// width is how many columns a line has at most.
const width = 80

// A printer writes a view for people.
type printer struct {
	*view
	names   *names
	screen  *cli.Screen                                 // for its colours
	most    int                                         // of each list; 0: all
	propose func(command string, more ...string) string // a command line
	only    bool                                        // the deadlocks
	w       *bufio.Writer
}

func (p *printer) print(to io.Writer) error {
	p.w = bufio.NewWriter(to)
	var rows []row
	if !p.only {
		rows = p.grow()
	}
	numbers := labels(rows)
	for _, r := range rows {
		switch {
		case r.refers != nobody:
			r.tail += fmt.Sprintf(", see [%d]", numbers[r.refers])
		case numbers[r.party] > 0:
			r.tail += fmt.Sprintf(" [%d]", numbers[r.party])
		}
		p.fit(r.lead, r.name, r.tail, r.mark)
	}
	if len(rows) > 0 {
		p.say("")
	}
	p.summary()
	p.printDeadlocks()
	return p.w.Flush()
}

func (p *printer) say(format string, args ...any) { cli.Say(p.w, format+"\n", args...) } // Flush returns the error

// fit writes a line, and shortens the name in it until it fits. Without a name it is only what leads to one.
func (p *printer) fit(lead, name, tail, mark string) {
	if name != "" {
		name = p.names.show(name, max(12, width-utf8.RuneCountInString(lead+tail+mark)))
	}
	if mark != "" {
		mark = p.screen.Paint(cli.Red, mark)
	}
	p.say("%s%s%s%s", lead, name, tail, mark)
}

// mark says that a party is in a deadlock.
func (p *printer) mark(party int) string {
	i := p.marks[party]
	if i == 0 {
		return ""
	}
	return fmt.Sprintf(" %s deadlock %d", map[bool]string{true: "!", false: "?"}[p.deadlocks[i-1].Certain], i)
}

// hold says how a party holds a key, or that it is the first in line.
func (p *printer) hold(party, state int, isInTheWay bool) string {
	s := &p.states[state]
	switch {
	case s.Mode == redislock.ModeForeign:
		return ", " + cli.Mode(*s) + ", first in line"
	case !isInTheWay:
		return ", first in line"
	}
	holder := s.Holders[slices.Index(p.holders[state], party)]
	text := ", held to " + string(s.Mode)
	if !holder.Since.IsZero() {
		text += " for " + p.age(holder.Since)
	}
	text += ", " + cli.Duration(holder.TTL) + " left"
	switch others := len(s.Holders) - 1; others {
	case 0:
		return text
	case 1:
		return text + ", with another"
	default:
		return text + ", with " + count.Number(others) + " others"
	}
}

// wish says where a waiter stands among those who are alive, what it wants, and for how long it has waited.
func (p *printer) wish(s stand) (place, wish string) {
	if s.place == 0 {
		return "intent: ", ", to write"
	}
	return fmt.Sprintf("%d. ", s.ahead+1), fmt.Sprintf(", to %s, %s", s.mode, p.age(p.requests[s.request].since))
}

func (p *printer) age(since time.Time) string { return cli.Duration(max(0, p.now.Sub(since))) }

// summary says how much there is, and what cannot be seen.
func (p *printer) summary() {
	held, waited, unknown := 0, 0, 0
	for state := range p.states {
		if len(p.holders[state]) > 0 {
			held++
		}
		if isWaited(p.states[state]) {
			waited++
		}
	}
	for _, party := range p.parties {
		if !party.isKnown() {
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
