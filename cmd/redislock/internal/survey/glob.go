package survey

import "strings"

// A glob is a pattern of keys, as SCAN has it: `*` is any text, `?` any byte, `[a-c]` one of some bytes, `[^a]` any other
// one, and `\` takes the meaning off the next byte.
type glob []part

// A part matches one byte, or any text.
type part struct {
	star  bool
	bytes [256]bool
}

// parseGlob never fails: Redis has a meaning for every text.
func parseGlob(text string) glob {
	var g glob
	for len(text) > 0 {
		var p part
		switch text[0] {
		case '*':
			p.star, text = true, strings.TrimLeft(text, "*")
		case '?':
			p.set(0, 255)
			text = text[1:]
		case '[':
			text = p.class(text[1:])
		default:
			if text[0] == '\\' && len(text) > 1 {
				text = text[1:]
			}
			p.set(text[0], text[0])
			text = text[1:]
		}
		g = append(g, p)
	}
	return g
}

func (p *part) set(from, to byte) {
	for c := int(min(from, to)); c <= int(max(from, to)); c++ {
		p.bytes[c] = true
	}
}

// class reads what stands between brackets, and returns what stands behind them. A class without an end goes on to the
// end of the pattern.
func (p *part) class(text string) (rest string) {
	text, not := strings.CutPrefix(text, "^")
	for len(text) > 0 && text[0] != ']' {
		switch {
		case text[0] == '\\' && len(text) > 1:
			p.set(text[1], text[1])
			text = text[2:]
		case len(text) > 2 && text[1] == '-':
			p.set(text[0], text[2])
			text = text[3:]
		default:
			p.set(text[0], text[0])
			text = text[1:]
		}
	}
	if not {
		for c := range p.bytes {
			p.bytes[c] = !p.bytes[c]
		}
	}
	return strings.TrimPrefix(text, "]")
}

func (g glob) match(key string) bool {
	at, star, from := 0, -1, 0 // star: where the last one stands; from: what it has not taken yet
	for i := 0; i < len(key); {
		switch {
		case at < len(g) && g[at].star:
			star, from = at, i
			at++
		case at < len(g) && g[at].bytes[key[i]]:
			at++
			i++
		case star >= 0:
			from++
			at, i = star+1, from
		default:
			return false
		}
	}
	return at == len(g) || at == len(g)-1 && g[at].star
}

// literal returns the one key that a pattern matches; false if it may match several.
func literal(text string) (key string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case strings.ContainsRune("*?[", rune(text[i])):
			return "", false
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String(), true
}

// escape makes a pattern that matches this text alone.
func escape(text string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(text)
}
