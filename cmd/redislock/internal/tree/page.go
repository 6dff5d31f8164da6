package tree

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

//go:embed page.html
var pageText string

// pageTemplate escapes what strangers have written, wherever that stands.
var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A page is who waits for whom: the keys that somebody waits for, and those who hold them or wait for them. Each refers to the
// others, so that one can follow a circle.
type page struct {
	Summary, Now  string
	Circles       []string // a sentence about each deadlock, and how many more there are
	Keys, Parties []*pageRow

	view    *view
	names   []string
	rows    map[int]*pageRow // of the parties
	circled map[pageTie]int  // the deadlock of which something is a part, from 1
}

// A pageRow is a key, with its holders on the left and those who wait on the right; or a party, with the keys for which it waits on
// the left and those that it holds on the right.
type pageRow struct {
	ID, Name, Note, Class string
	Left, Right           []pageLink
}

// A pageLink refers to a row; without an ID it is text.
type pageLink struct{ ID, Name, Says, Class string }

// A pageTie is that a party holds a key, or waits for it.
type pageTie struct {
	party, state int
	holds        bool
}

func (v *view) writeHTML(to io.Writer) error {
	p := &page{
		Now: v.now.UTC().Format("2006-01-02 15:04:05 UTC"), view: v, names: namesOf(v.settled).of, rows: map[int]*pageRow{},
		circled: map[pageTie]int{},
	}
	p.tellCircles()
	for state := range v.states {
		if len(v.lines[state]) > 0 {
			p.addKey(state)
		}
	}
	p.Summary = fmt.Sprintf("%s, %s.", count.Either(len(p.Keys), "key is waited for", "keys are waited for"), count.Of(len(v.requests), "request"))
	if v.more > 0 {
		p.Circles = append(p.Circles, fmt.Sprintf("There are %s more deadlocks, or more.", count.Number(v.more)))
	}
	return pageTemplate.Execute(to, p)
}

// tellCircles says of each deadlock who is in it, and keeps what it joins. Certain ones are told first, and count.
func (p *page) tellCircles() {
	for i := range p.view.deadlocks {
		d := &p.view.deadlocks[i]
		ends := ". Not certain: " + strings.Join(d.Doubts, "; ") + "."
		if d.Certain {
			ends = ". None of them can go on until one gives up or loses its lease."
		}
		var says []string
		for s, next := range d.links() {
			text := "%s waits for %s, in line behind %s"
			if s.Why == held {
				text = "%s waits for %s, which is held by %s"
			}
			says = append(says, fmt.Sprintf(text, cli.Text(p.names[s.party]), cli.Text(p.view.states[s.state].Key), cli.Text(p.names[next.party])))
			for _, t := range []pageTie{{s.party, s.state, false}, {next.party, s.state, s.Why == held}} {
				if p.circled[t] == 0 {
					p.circled[t] = i + 1
				}
			}
		}
		p.Circles = append(p.Circles, fmt.Sprintf("Deadlock %d, %s: %s%s", i+1, d.kind(), strings.Join(says, "; "), ends))
	}
}

// addKey makes the row of a key, and ties it to those of its holders and waiters.
func (p *page) addKey(state int) {
	v, s := p.view, &p.view.states[state]
	key := &pageRow{ID: fmt.Sprint("k", state+1), Name: cli.Text(s.Key), Note: cli.Mode(*s)}
	p.Keys = append(p.Keys, key)
	for h, party := range v.holders[state] {
		if party == nobody {
			key.Left = append(key.Left, pageLink{Name: "somebody", Says: "has left the key"})
			continue
		}
		p.tie(key, pageTie{party, state, true}, fmt.Sprintf("%s, %s left", s.Mode, cli.Duration(s.Holders[h].TTL)))
	}
	for _, one := range v.lines[state] {
		r, says := &v.requests[one.request], "with an intent"
		if one.place > 0 {
			says = fmt.Sprintf("%d. %s, %s", one.place, one.mode, cli.Duration(max(0, v.now.Sub(r.since))))
		}
		p.tie(key, pageTie{r.party, state, false}, says)
	}
}

// tie has the rows of a key and of a party refer to each other, and marks both if that is a part of a circle.
func (p *page) tie(key *pageRow, t pageTie, says string) {
	who := p.rows[t.party]
	if who == nil {
		who = &pageRow{ID: partyID(t.party), Name: cli.Text(p.names[t.party])}
		p.rows[t.party], p.Parties = who, append(p.Parties, who)
	}
	class := ""
	if i := p.circled[t]; i > 0 {
		class = p.view.deadlocks[i-1].kind()
		for _, row := range []*pageRow{key, who} {
			if row.Class != "certain" {
				row.Class = class
			}
		}
	}
	toWho, toKey := pageLink{who.ID, who.Name, says, class}, pageLink{key.ID, key.Name, says, class}
	if t.holds {
		key.Left, who.Right = append(key.Left, toWho), append(who.Right, toKey)
	} else {
		key.Right, who.Left = append(key.Right, toWho), append(who.Left, toKey)
	}
}

// writePage writes a page into a file once it is complete; "-" is the standard output.
func writePage(path string, out io.Writer, write func(io.Writer) error) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	if path == "-" {
		_, err := page.WriteTo(out)
		return err
	}
	return os.WriteFile(path, page.Bytes(), 0o666)
}
