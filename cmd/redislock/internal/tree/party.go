package tree

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// metadataWord is one word of metadata, in which a quoted value may have spaces.
var metadataWord = regexp.MustCompile(`(?:"(?:[^"\\]|\\.)*"|[^ ])+`)

// processOf reads metadata as redislock.InstanceMetadata makes them: how the process is called, and what tells it from others. Of
// other metadata the name is all of it, and the id is empty.
func processOf(metadata string) (name, id string) {
	known, rest := map[string]string{}, ""
	for _, word := range metadataWord.FindAllString(metadata, -1) {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "host", "pid", "prog", "since":
			known[name] = value
			if plain, err := strconv.Unquote(value); err == nil {
				known[name] = plain
			}
		default:
			rest += " " + word
		}
	}
	host, pid := known["host"], known["pid"]
	if host == "" || pid == "" {
		return metadata, ""
	}
	name = strings.TrimSpace(fmt.Sprintf("%s pid %s %s", host, pid, known["prog"])) + rest
	return name, fmt.Sprintf("%q %q %q", host, pid, known["since"])
}

// names is how parties are called, and what stands around that.
type names struct {
	glyphs
	of      []string
	parties []party
}

// glyphs are what pictures are made of.
type glyphs struct{ branch, last, stem, gap, arrow, dots string }

var (
	boxes = glyphs{"├─ ", "└─ ", "│  ", "   ", "→", "…"}
	plain = glyphs{"|- ", "`- ", "|  ", "   ", "->", "..."}
)

// namesOf finds a short name for each party, or the whole text where two have the same short name.
func namesOf(m *model) *names {
	n := &names{glyphs: boxes, of: make([]string, len(m.parties)), parties: m.parties}
	count := map[string]int{}
	for p := range m.parties {
		n.of[p] = shortName(&m.parties[p])
		count[n.of[p]]++
	}
	for p := range m.parties {
		if party := &m.parties[p]; party.isKnown() && count[n.of[p]] > 1 {
			n.of[p] = longName(party)
		}
	}
	return n
}

func shortName(p *party) string {
	text, _ := processOf(p.metadata)
	switch {
	case p.caller == "":
		return cmp.Or(text, "somebody")
	case text == "":
		return p.caller
	}
	return p.caller + " (" + text + ")"
}

func longName(p *party) string {
	if p.caller == "" {
		return p.metadata
	}
	return strings.TrimSpace(p.metadata + " caller=" + p.caller)
}

// brief is a name for the middle of a sentence: that of a caller is its id.
func (n *names) brief(p int) string {
	return n.show(cmp.Or(n.parties[p].caller, n.of[p]), 30)
}

// show makes a text fit for a terminal, and at most so long. Of a long one the middle is left out.
func (n *names) show(text string, most int) string {
	if text = cli.Text(text); !n.isWritable(text) {
		text = strconv.QuoteToASCII(text)
	}
	switch {
	case n.glyphs == boxes:
		return cells.Short(text, most)
	case len(text) <= most:
		return text
	}
	return strings.Replace(cells.Short(text, most-2), boxes.dots, plain.dots, 1)
}

// isWritable reports whether the terminal has the characters of a text.
func (n *names) isWritable(text string) bool {
	return n.glyphs == boxes || strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}
