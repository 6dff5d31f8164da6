package plot

import (
	"fmt"
	"slices"
	"strings"
)

// A Look is a colour and the shape of a mark, so that lines can be told apart without colours.
type Look int

// The looks that there are.
const (
	Blue   Look = iota // what the chart is about: stronger than the others
	Orange             // squares
	Green              // triangles
	Purple             // diamonds
	Pink               // triangles on their tips
	Brown              // crosses
)

// looks are the colours on light and dark pages. If a page is dark and the reader's system is not, or the reverse, the
// media query gives the wrong colours. So no colour is so near to black or white that it would be lost there.
var looks = map[Look]struct{ light, dark, mark string }{
	Blue:   {"#0969da", "#58a6ff", `<circle id="%s" r="4"/>`},
	Orange: {"#bc4c00", "#f0883e", `<rect id="%s" x="-3.5" y="-3.5" width="7" height="7"/>`},
	Green:  {"#1a7f5a", "#3fb98a", `<polygon id="%s" points="0,-4.8 4.6,3.4 -4.6,3.4"/>`},
	Purple: {"#8250df", "#a371f7", `<polygon id="%s" points="0,-5 5,0 0,5 -5,0"/>`},
	Pink:   {"#bf3989", "#db61a2", `<polygon id="%s" points="0,4.8 4.6,-3.4 -4.6,-3.4"/>`},
	Brown:  {"#8a5a00", "#c9941f", `<path id="%s" class="cross" d="M-3.5,-3.5L3.5,3.5M-3.5,3.5L3.5,-3.5"/>`},
}

// style is the looks of the whole drawing. A line is a class that sets color alone; its shapes take it from
// currentColor.
func style(names []Line) string {
	var light, dark strings.Builder
	for _, l := range names {
		class, look := classOf(l.Name), looks[l.Look]
		fmt.Fprintf(&light, ".%s { color: %s }\n", class, look.light)
		fmt.Fprintf(&dark, ".%s { color: %s }\n", class, look.dark)
		if l.Look == Blue {
			fmt.Fprintf(&light, ".%[1]s .line { stroke-width: 2.5 }\n.%[1]s .name { font-weight: 600 }\n", class)
		}
	}
	return common + light.String() + "@media (prefers-color-scheme: dark) {\nsvg { color: #9198a1 }\n" + dark.String() + "}\n"
}

// marks are the shapes at the points of each line, about the origin.
func marks(names []Line) string {
	var text strings.Builder
	for _, l := range names {
		fmt.Fprintf(&text, looks[l.Look].mark+"\n", classOf(l.Name))
	}
	return text.String()
}

// taken are the classes and ids that the drawing itself has.
var taken = []string{"title", "desc", "about", "num", "name", "end", "mid", "grid", "axis", "line", "lead", "range", "cross"}

// classOf makes a name of CSS and XML, which begins with a letter, of the name of a line.
func classOf(name string) string {
	class := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if class == "" || class[0] < 'a' || slices.Contains(taken, class) {
		return "of-" + class
	}
	return class
}
