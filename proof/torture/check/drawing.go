package check

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

const (
	width      = 1500 // of the picture, in pixels
	margin     = 110  // left of it, for names
	lineHeight = 13
	barHeight  = 17
	gap        = 14
)

// colours are those of keys, one after the other.
var colours = []string{"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#9c755f", "#e15759", "#76b7b2", "#edc948"}

// A drawing is a picture under way.
type drawing struct {
	span      span
	processes []int
	mentioned map[id]bool // by the finding
	colours   map[string]int
	height    int
	bands     []span
	shapes    strings.Builder
}

// x is where a moment is.
func (d *drawing) x(at time.Duration) float64 {
	at = min(max(at, d.span.begin), d.span.end)
	return margin + (width-margin)*float64(at-d.span.begin)/float64(max(d.span.end-d.span.begin, 1))
}

func (d *drawing) colour(key string) string {
	if _, ok := d.colours[key]; !ok {
		d.colours[key] = len(d.colours)
	}
	return colours[d.colours[key]%len(colours)]
}

func (d *drawing) title(text string) {
	fmt.Fprintf(&d.shapes, `<text x="2" y="%d" font-weight="bold">%s</text>`+"\n", d.height+lineHeight, html.EscapeString(text))
}

func (d *drawing) band(s span) { d.bands = append(d.bands, s) }

// rectangle draws one, with a text inside, and more for whoever points at it.
func (d *drawing) rectangle(y, height int, s span, style, text, more string) {
	from, to := d.x(s.begin), d.x(s.end)
	wide := max(to-from, 2)
	fmt.Fprintf(&d.shapes, `<g><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" %s/>`,
		html.EscapeString(more), from, y, wide, height, style)
	if most := int(wide / 6); most > 0 && text != "" {
		if len(text) > most {
			text = text[:most]
		}
		fmt.Fprintf(&d.shapes, `<text x="%.1f" y="%d">%s</text>`, from+2, y+height-3, html.EscapeString(text))
	}
	d.shapes.WriteString("</g>\n")
}

// operation draws an operation from its Call to its Return.
func (d *drawing) operation(lane int, o *history.Operation) {
	style := `fill="#e8e8e8" stroke="#999"`
	if d.mentioned[id{o.Process, o.Op}] {
		style = `fill="#fff3b0" stroke="#000"`
	}
	outcome := string(o.Outcome)
	if !o.Returned {
		outcome = "no answer"
	}
	keys := strings.Join(slices.Concat(o.Write, o.Read), " ")
	text := fmt.Sprintf("%d %s %s: %s", o.Op, o.Action, keys, outcome)
	more := fmt.Sprintf("%s\nlock %d, write %q, read %q, way %s, ttl %s\nfrom %s to %s, until %s, number %d\n%s",
		text, o.Lock, o.Write, o.Read, o.Way, o.TTL, o.At, end(o.End), o.Until, o.Fence, o.Error)
	d.rectangle(d.height+lane*lineHeight, lineHeight-2, span{o.At, o.End}, style, text, more)
}

func end(at time.Duration) string {
	if at == forever {
		return "no end"
	}
	return at.String()
}

// window draws a window of a lock.
func (d *drawing) window(base, lane int, w *tenure) {
	opacity := 0.35
	mode := "reads"
	if w.write {
		opacity, mode = 0.9, "writes"
	}
	style := fmt.Sprintf(`fill="%s" fill-opacity="%.2f" stroke="#333"`, d.colour(w.key), opacity)
	if w.kept {
		style, mode = style+` stroke-dasharray="3 2"`, "keeps"
	}
	d.rectangle(base+lane*barHeight, barHeight-3, w.span, style, fmt.Sprintf("%d %s %s", w.hold.id.op, mode, w.key), w.String())
}

// stall hatches a time in which a process did not run.
func (d *drawing) stall(top int, s span) {
	d.rectangle(top, d.height-top, s, `fill="url(#hatched)"`, "", fmt.Sprintf("did not run from %s to %s", s.begin, s.end))
}

func (d *drawing) mark(top int, at time.Duration, text string) {
	fmt.Fprintf(&d.shapes, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="red" stroke-width="2"/><text x="%.1f" y="%d" fill="red">%s</text>`+"\n",
		d.x(at), d.x(at), top, d.height, d.x(at)+3, top+lineHeight, text)
}

const pageHead = `<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>%s</title>
<style>body{font:14px sans-serif;margin:16px} svg text{font:11px sans-serif} td,th{font:12px monospace;text-align:left;padding:1px 8px;vertical-align:top}</style>
</head><body><h2>%s</h2><p>%s</p>
<p>Grey: operations, from Call to Return; yellow: those of the finding. Bars: windows, in the colour of their key, pale if they
read, dashed if the key was left. Hatched: the process did not run. Red: faults, and kills. Point at something to read more.</p>
`

// page puts the picture, and the events that show the finding, on one page.
func (d *drawing) page(f Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, html.EscapeString(string(f.Promise)), html.EscapeString(string(f.Promise)), html.EscapeString(f.Text))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d">
<defs><pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="2" height="6" fill="#000" fill-opacity="0.3"/></pattern></defs>
`, width, d.height+3*lineHeight)
	for _, s := range d.bands {
		fmt.Fprintf(&b, `<rect x="%.1f" y="0" width="%.1f" height="%d" fill="red" fill-opacity="0.10"/>`+"\n",
			d.x(s.begin), max(d.x(s.end)-d.x(s.begin), 2), d.height)
	}
	b.WriteString(d.shapes.String())
	for i := range 9 {
		at := d.span.begin + (d.span.end-d.span.begin)*time.Duration(i)/8
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", min(d.x(at), width-40), d.height+lineHeight,
			at.Round(10*time.Microsecond))
	}
	b.WriteString("</svg>\n<table><tr><th>at</th><th>process</th><th>event</th></tr>\n")
	for _, e := range f.Events {
		text, err := json.Marshal(e)
		if err != nil {
			text = []byte(err.Error())
		}
		fmt.Fprintf(&b, "<tr><td>%s</td><td>%d</td><td>%s</td></tr>\n", e.At, e.Process, html.EscapeString(string(text)))
	}
	b.WriteString("</table></body></html>\n")
	return b.String()
}
