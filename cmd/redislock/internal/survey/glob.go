package survey

import "strings"

// A glob is a pattern of keys, as SCAN has it: `*` is any text, `?` any byte, `[a-c]` one of some bytes, `[^a]` any other
// one, and `\` takes the meaning off the next byte. Redis has a meaning for every text.
type glob string

func (g glob) match(key string) bool {
	rest, star, from := g, glob(""), -1 // star: what stands behind the last one; from: the key that it has not taken yet
	for i := 0; i < len(key); {
		if behind := strings.TrimLeft(string(rest), "*"); len(behind) < len(rest) {
			rest, star, from = glob(behind), glob(behind), i
			continue
		}
		if behind, ok := rest.byte(key[i]); ok {
			rest, i = behind, i+1
			continue
		}
		if from < 0 {
			return false
		}
		from++
		rest, i = star, from
	}
	return strings.Trim(string(rest), "*") == ""
}

// byte reports whether the first part of a pattern, which is no star, is about a byte, and returns what stands behind it.
func (g glob) byte(c byte) (behind glob, ok bool) {
	switch {
	case g == "":
		return "", false
	case g[0] == '?':
		return g[1:], true
	case g[0] == '[':
		return g[1:].class(c)
	case g[0] == '\\' && len(g) > 1:
		g = g[1:]
	}
	return g[1:], g[0] == c
}

// class reads what stands behind an opening bracket. A class without an end goes on to the end of the pattern.
func (g glob) class(c byte) (behind glob, ok bool) {
	text, not := strings.CutPrefix(string(g), "^")
	for text != "" && text[0] != ']' {
		from, to, n := text[0], text[0], 1
		switch {
		case from == '\\' && len(text) > 1:
			from, to, n = text[1], text[1], 2
		case len(text) > 2 && text[1] == '-':
			to, n = text[2], 3
		}
		ok = ok || min(from, to) <= c && c <= max(from, to)
		text = text[n:]
	}
	return glob(strings.TrimPrefix(text, "]")), ok != not
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
