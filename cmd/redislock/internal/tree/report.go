package tree

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// printDeadlocks writes the part of the deadlocks: one by one, and those who may wait for themselves together.
func (p *printer) printDeadlocks() {
	told := p.deadlocks
	if p.most > 0 {
		told = told[:min(p.most, len(told))]
	}
	for i := range told {
		p.deadlock(i+1, &told[i])
	}
	if hidden := p.more + len(p.deadlocks) - len(told); hidden > 0 {
		p.say("\n%s %s more of them, or more", p.glyphs.dots, count.Number(hidden))
	}
	p.printSelves()
}

func (p *printer) deadlock(number int, d *deadlock) {
	title, colour := "possible deadlock", cli.Yellow
	if d.certain {
		title, colour = "certain deadlock", cli.Red
	}
	p.say("")
	p.wrap(fmt.Sprintf("%s %d: ", title, number), p.circle(d), "   ", colour)
	for s, next := range d.links() {
		p.step(s, p.names.brief(next.party))
	}
	if d.behind > 0 {
		p.say("   %s behind these.", count.Either(d.behind, "request more waits", "requests more wait"))
	}
	if len(d.why) > 0 {
		p.wrap("   Not certain: ", strings.Split(strings.Join(d.why, "; ")+".", " "), "   ", "")
	}
	p.wayOut(d)
}

// circle is the chain of a deadlock, as pieces that stay together.
func (p *printer) circle(d *deadlock) []string {
	pieces := p.chain(d, p.names)
	for i := range pieces[1:] {
		pieces[i+1] = p.glyphs.arrow + " " + pieces[i+1]
	}
	return pieces
}

// step writes what one party of a circle waits for.
func (p *printer) step(s step, next string) {
	r := &p.settled.requests[s.request]
	p.fit("   ", p.names.of[s.party], "", "")
	mode, age := r.stands[r.at(s.state)].mode, ", with an intent"
	if !r.intent {
		age = ", for " + p.age(r.since)
	}
	where := ", in line behind "
	if s.held {
		where = ", held by "
	}
	p.fit(fmt.Sprintf("      wants to %s ", mode), p.states[s.state].Key, where+next+age, "")
}

// wayOut says how a deadlock ends.
func (p *printer) wayOut(d *deadlock) {
	victim, ends := p.victim(d)
	p.say("   The first lease in it ends in %s, if it is not renewed.", cli.Duration(ends))
	if word, ok := shellWord(p.states[victim].Key); ok && d.certain && p.names.isWritable(word) {
		p.say("   To end it: %s", p.propose("break", word))
	}
}

// victim returns the key to break, that of the holder who began to wait last, and when the first lease ends.
func (p *printer) victim(d *deadlock) (state int, ends time.Duration) {
	var last time.Time
	state = nobody
	for s, next := range d.links() {
		if !s.held {
			continue
		}
		if since := p.settled.requests[next.request].since; state == nobody || since.After(last) {
			state, last = s.state, since
		}
		for h, party := range p.settled.holders[s.state] {
			if ttl := p.settled.states[s.state].Holders[h].TTL; party == next.party && (ends == 0 || ttl < ends) {
				ends = ttl
			}
		}
	}
	return state, ends
}

// shellWord makes a key one word of a shell; false: it is nothing that people can type.
func shellWord(key string) (string, bool) {
	if key == "" || key[0] == '-' || cli.Text(key) != key {
		return "", false
	}
	return cli.Quote(key), true
}

// wrap writes a text in lines that fit: title, then pieces, which are never broken.
func (p *printer) wrap(title string, pieces []string, indent, colour string) {
	line := strings.TrimSuffix(title, " ")
	for i, piece := range pieces {
		if i > 0 && p.width > 0 && utf8.RuneCountInString(line+" "+piece) > p.width {
			p.say("%s", p.paint(colour, line))
			line = indent + piece
			continue
		}
		line += " " + piece
	}
	p.say("%s", p.paint(colour, line))
}

func (p *printer) paint(colour, text string) string {
	if colour == "" {
		return text
	}
	return p.screen.Paint(colour, text)
}

// printSelves writes who may wait for itself. That is most likely nothing, so it is short.
func (p *printer) printSelves() {
	var pieces []string
	seen := map[int]bool{}
	for _, d := range p.selves {
		if party := d.steps[0].party; !seen[party] {
			seen[party] = true
			pieces = append(pieces, fmt.Sprintf("%s (%s)", p.names.brief(party), p.names.show(p.states[d.steps[0].state].Key, 30)))
		}
	}
	if len(pieces) == 0 {
		return
	}
	title := fmt.Sprintf("%s for a key that it holds itself, most likely another goroutine:", count.Of(len(pieces), "party waits"))
	if len(pieces) > 1 {
		title = fmt.Sprintf("%s parties wait for keys that they hold themselves, most likely other goroutines:", count.Number(len(pieces)))
	}
	if p.most > 0 && len(pieces) > p.most {
		pieces = append(pieces[:p.most], fmt.Sprintf("%s %s more", p.glyphs.dots, count.Number(len(pieces)-p.most)))
	}
	p.say("")
	p.say("%s", title)
	for _, piece := range pieces {
		p.say("   %s", piece)
	}
}
