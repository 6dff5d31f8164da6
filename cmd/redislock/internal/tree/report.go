package tree

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// printDeadlocks writes the part of the deadlocks.
func (p *printer) printDeadlocks() {
	told := p.deadlocks
	if p.most > 0 {
		told = told[:min(p.most, len(told))]
	}
	for i := range told {
		p.deadlock(i+1, &told[i])
	}
	if hidden := p.more + len(p.deadlocks) - len(told); hidden > 0 {
		p.say("\n%s %s more of them, or more", p.names.dots, count.Number(hidden))
	}
}

func (p *printer) deadlock(number int, d *deadlock) {
	p.say("")
	colour := map[bool]string{true: cli.Red, false: cli.Yellow}[d.Certain]
	for _, line := range wrap(fmt.Sprintf("%s deadlock %d:", d.kind(), number), p.chain(d, p.names)) {
		p.say("%s", p.screen.Paint(colour, line))
	}
	for s, next := range d.links() {
		p.step(s, p.names.brief(next.party))
	}
	if len(d.Doubts) > 0 {
		p.say("%s", strings.Join(wrap("   Not certain:", strings.Split(strings.Join(d.Doubts, "; ")+".", " ")), "\n"))
	}
	p.wayOut(d)
}

// step writes what one party of a circle waits for.
func (p *printer) step(s step, next string) {
	r := &p.settled.requests[s.request]
	p.fit("   ", p.names.of[s.party], "", "")
	mode, age := r.stands[r.at(s.state)].mode, ", with an intent"
	if !r.isIntent() {
		age = ", for " + p.age(r.since)
	}
	where := ", in line behind "
	if s.Why == held {
		where = ", held by "
	}
	p.fit(fmt.Sprintf("      wants to %s ", mode), p.states[s.state].Key, where+next+age, "")
}

// wayOut says how a deadlock ends: by itself, or if the key is broken of the holder who began to wait last.
func (p *printer) wayOut(d *deadlock) {
	victim, last, ends := nobody, time.Time{}, time.Duration(0)
	for s, next := range d.links() {
		if s.Why != held {
			continue
		}
		if since := p.settled.requests[next.request].since; victim == nobody || since.After(last) {
			victim, last = s.state, since
		}
		for h, party := range p.settled.holders[s.state] {
			if ttl := p.settled.states[s.state].Holders[h].TTL; party == next.party && (ends == 0 || ttl < ends) {
				ends = ttl
			}
		}
	}
	p.say("   The first lease in it ends in %s, if it is not renewed.", cli.Duration(ends))
	if word, ok := shellWord(p.states[victim].Key); ok && d.Certain && p.names.isWritable(word) {
		p.say("   To end it: %s", p.propose("break", word))
	}
}

// shellWord makes a key one word of a shell; false: it is nothing that people can type.
func shellWord(key string) (string, bool) {
	if key == "" || key[0] == '-' || cli.Text(key) != key {
		return "", false
	}
	return cli.Quote(key), true
}

// wrap puts a title and pieces, which are never broken, into lines that fit.
func wrap(title string, pieces []string) (lines []string) {
	line := title
	for i, piece := range pieces {
		if i > 0 && utf8.RuneCountInString(line+" "+piece) > width {
			lines, line = append(lines, line), "  "
		}
		line += " " + piece
	}
	return append(lines, line)
}
