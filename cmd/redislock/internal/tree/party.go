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

// A process is what the metadata of redislock.InstanceMetadata say.
type process struct{ host, pid, program, start, rest string }

// metadataWord is one word of metadata, in which a quoted value may have spaces.
var metadataWord = regexp.MustCompile(`(?:"(?:[^"\\]|\\.)*"|[^ ])+`)

// processOf reads metadata that name a host and a process id.
func processOf(metadata string) (process, bool) {
	var p process
	for _, word := range metadataWord.FindAllString(metadata, -1) {
		name, value, _ := strings.Cut(word, "=")
		if plain, err := strconv.Unquote(value); err == nil {
			value = plain
		}
		switch name {
		case "host":
			p.host = value
		case "pid":
			p.pid = value
		case "prog":
			p.program = value
		case "since":
			p.start = value
		default:
			p.rest += " " + word
		}
	}
	return p, p.host != "" && p.pid != ""
}

// id tells processes apart.
func (p process) id() string { return fmt.Sprintf("%q %q %q", p.host, p.pid, p.start) }

func (p process) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s pid %s %s", p.host, p.pid, p.program)) + p.rest
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
	text := p.metadata
	if process, ok := processOf(p.metadata); ok {
		text = process.String()
	}
	switch {
	case p.caller == "" && text == "":
		return "somebody"
	case p.caller == "":
		return text
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
