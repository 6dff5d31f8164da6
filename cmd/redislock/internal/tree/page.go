package tree

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

//go:embed page.html
var pageText string

// pageTemplate escapes what strangers have written, wherever that stands.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"add": func(a, b int) int { return a + b },
}).Parse(pageText))

// A page is a picture of who waits for whom: holders on the left, keys in the middle, those who wait on the right.
type page struct {
	Summary, Now string
	Circles      []pageCircle
	Notes        []string
	Nodes        []*pageNode
	Edges        []pageEdge
	Height       int

	view    *view
	names   []string
	circled map[pageStep]string // how what joins a party and a key is drawn, if it is a part of a circle
	ports   map[pageSide]int    // how many edges the box of a party has
	boxes   map[pageSide]*pageNode
	bottom  [3]int // of each column
}

// A pageCircle is the sentence about a deadlock.
type pageCircle struct{ Title, Text string }

// A pageStep is what joins a party and a key.
type pageStep struct {
	pageSide
	state int
}

// A pageSide is a party as a holder, or as one who waits: a box for each.
type pageSide struct {
	party int
	holds bool
}

// A pageNode is a box.
type pageNode struct {
	Text, Full, Note, Class string
	X, Y, Height            int
	used                    int // how many edges have their places
}

// What a page measures: see page.html, too.
const (
	pageTop   = 34
	pageLine  = 20
	pageWidth = 300 // of a box
	pageGap   = 12  // between boxes
	pageChars = 39  // in a box
	pageLabel = 130 // what is said of an edge
)

// A pageEdge joins a party and a key.
type pageEdge struct {
	X, Y, KeyX, KeyY int // the ends, at the party and at the key
	Label, Class     string
	Aside            int // where what it says stands, from X; negative if the key is on the left of the party
}

// Path is the line: straight beneath what it says, which stands at the party, and then bent.
func (e pageEdge) Path() string {
	bend := e.X + pageLabel*e.Aside/6
	middle := (bend + e.KeyX) / 2
	return fmt.Sprintf("M%d %dH%dC%d %d %d %d %d %d", e.X, e.Y, bend, middle, e.Y, middle, e.KeyY, e.KeyX, e.KeyY)
}

func (v *view) writeHTML(to io.Writer) error { return pageTemplate.Execute(to, v.page()) }

func (v *view) page() *page {
	p := &page{
		Now: v.now.UTC().Format("2006-01-02 15:04:05 UTC"), view: v, names: namesOf(v.settled, false).of, circled: map[pageStep]string{},
		ports: map[pageSide]int{}, boxes: map[pageSide]*pageNode{}, bottom: [3]int{pageTop, pageTop, pageTop},
	}
	p.tellCircles()
	keys := make([][]pageTie, len(v.states))
	waited := 0
	for i := range keys {
		if keys[i] = v.ties(i); len(keys[i]) > 0 {
			waited++
		}
		for _, t := range keys[i] {
			if t.party != nobody {
				p.ports[t.pageSide]++
			}
		}
	}
	for i, ties := range keys {
		if len(ties) > 0 {
			p.key(i, ties)
		}
	}
	p.Summary = fmt.Sprintf("%s, %s.", count.Either(waited, "key is waited for", "keys are waited for"), count.Of(len(v.requests), "request"))
	p.Height = slices.Max(p.bottom[:])
	return p
}

// A pageTie is that a party holds a key, or waits for it.
type pageTie struct {
	pageSide
	says string
}

// ties are those of a key for which somebody waits.
func (v *view) ties(i int) (ties []pageTie) {
	s := &v.states[i]
	for _, one := range v.lines[i] {
		r, text := &v.requests[one.request], "with an intent"
		if one.place > 0 {
			text = fmt.Sprintf("%d. %s, %s", one.place, one.mode, cli.Duration(max(0, v.now.Sub(r.since))))
		}
		ties = append(ties, pageTie{pageSide{r.party, false}, text})
	}
	if len(ties) == 0 {
		return nil
	}
	for h, party := range v.holders[i] {
		text := fmt.Sprintf("%s, %s left", s.Mode, cli.Duration(s.Holders[h].TTL))
		if party == nobody {
			text = "somebody has left the key"
		}
		ties = append(ties, pageTie{pageSide{party, true}, text})
	}
	return ties
}

// key draws a key, and beside it those who are not drawn yet.
func (p *page) key(i int, ties []pageTie) {
	s := &p.view.states[i]
	top := slices.Max(p.bottom[:])
	p.bottom = [3]int{top, top, top}
	key := p.node(1, 2, cli.Text(s.Key), cli.Mode(*s))
	for _, t := range ties {
		if t.party == nobody {
			key.Note += ", " + t.says
			continue
		}
		box := p.box(t.pageSide)
		y := box.Y + pageLine - 2 + pageLine*box.used
		box.used++
		class := p.circled[pageStep{t.pageSide, i}]
		e := pageEdge{box.X, y, key.X + pageWidth, key.Y + key.Height/2, t.says, class, -6}
		if t.holds {
			e.X, e.KeyX, e.Aside = box.X+pageWidth, key.X, 6
		}
		if p.Edges = append(p.Edges, e); class != "" && (key.Class == "" || class == "certain") {
			key.Class = class
		}
	}
}

// box returns the box of a party on its side, and draws it if it is new.
func (p *page) box(side pageSide) *pageNode {
	if box := p.boxes[side]; box != nil {
		return box
	}
	column, lines, note, class := 2, 1, "", ""
	if side.holds {
		column = 0
	}
	if i := p.view.marks[side.party]; i > 0 {
		lines, note, class = 2, fmt.Sprint("deadlock ", i), p.view.deadlocks[i-1].kind()
	}
	box := p.node(column, max(lines, p.ports[side]), cli.Text(p.names[side.party]), note)
	box.Class, p.boxes[side] = class, box
	return box
}

// node draws a box of so many lines.
func (p *page) node(column, lines int, text, note string) *pageNode {
	n := &pageNode{
		Text: cells.Short(text, pageChars), Full: text, Note: cells.Short(note, pageChars), X: 10 + 550*column, Y: p.bottom[column], Height: 8 + pageLine*lines,
	}
	p.Nodes = append(p.Nodes, n)
	p.bottom[column] += n.Height + pageGap
	return n
}

// tellCircles says of each deadlock who is in it, and keeps what it joins.
func (p *page) tellCircles() {
	v := p.view
	for i := range v.deadlocks {
		d := &v.deadlocks[i]
		class, ends := d.kind(), ". Not certain: "+strings.Join(d.Doubts, "; ")+"."
		if d.Certain {
			ends = ". None of them can go on until one gives up or loses its lease."
		}
		var says []string
		for s, next := range d.links() {
			text := "%s waits for %s, in line behind %s"
			if s.Why == held {
				text = "%s waits for %s, which is held by %s"
			}
			says = append(says, fmt.Sprintf(text, cli.Text(p.names[s.party]), cli.Text(v.states[s.state].Key), cli.Text(p.names[next.party])))
			p.mark(pageStep{pageSide{s.party, false}, s.state}, class)
			p.mark(pageStep{pageSide{next.party, s.Why == held}, s.state}, class)
		}
		p.Circles = append(p.Circles, pageCircle{fmt.Sprintf("Deadlock %d, %s", i+1, class), strings.Join(says, "; ") + ends})
	}
	if v.more > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("There are %s more deadlocks, or more.", count.Number(v.more)))
	}
	if selves := len(v.selves); selves > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("Of those who wait for a key that they hold themselves, most likely in another goroutine, there are %s.",
			count.Number(selves)))
	}
}

// mark keeps that something is a part of a circle. Certain ones are told first, and count.
func (p *page) mark(s pageStep, class string) {
	if p.circled[s] == "" {
		p.circled[s] = class
	}
}

// writePage writes a page into a file: at once, so that nobody sees half of it. A file that is no regular one, such as a pipe, is
// written to as it is; "-" is the standard output.
func writePage(path string, out io.Writer, write func(io.Writer) error) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	if path == "-" {
		_, err := page.WriteTo(out)
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, page.Bytes(), 0o666)
	}
	at := path + "." + rand.Text() + ".tmp"
	err := os.WriteFile(at, page.Bytes(), 0o666)
	if err == nil {
		return os.Rename(at, path)
	}
	_ = os.Remove(at) // the error is the news
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		failed.Path = path // nobody knows the other name
	}
	return err
}
