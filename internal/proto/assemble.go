package proto

import (
	"strconv"
	"strings"
)

// This file is how the source of a script is put together: what it includes, and the values of constants.

// assembled puts in the place of each line that includes a file what the script uses of it: a run pays for each function
// that it makes.
func assembled(body string) string {
	const mark = "--#include "
	var parts []piece
	for line := range strings.Lines(body) {
		name, is := strings.CutPrefix(line, mark)
		if !is {
			parts = append(parts, piece{text: line})
			continue
		}
		parts = append(parts, piecesOf(read("lua/"+strings.TrimSuffix(name, "\n")))...)
	}
	return used(parts)
}

// A piece of a script is a function, or a constant, that it may not use, with the comment above; or any other text.
type piece struct {
	text string
	name string // of that function or constant; else empty
}

// piecesOf divides a file into pieces.
func piecesOf(file string) (parts []piece) {
	var now piece
	inFunction := false
	for line := range strings.Lines(file) {
		rest, isLocal := strings.CutPrefix(line, "local ")
		function, isFunction := strings.CutPrefix(rest, "function ")
		if isLocal && !inFunction {
			now.name = function[:strings.IndexFunc(function, func(r rune) bool { return !isOfName(byte(r)) })]
			inFunction = isFunction
		}
		now.text += line
		if inFunction && line != "end\n" || !inFunction && !isLocal && line != "\n" {
			continue // a comment belongs to what follows
		}
		parts = append(parts, now)
		now, inFunction = piece{}, false
	}
	return append(parts, now)
}

// used joins the pieces that are used by what has no name, or by others that are.
func used(parts []piece) string {
	by := make(map[string]int, len(parts)) // the places of those that are left out as yet
	var ask []string
	for i, p := range parts {
		if p.name != "" {
			by[p.name] = i
		} else {
			ask = append(ask, p.text)
		}
	}
	for len(ask) > 0 {
		text := ask[len(ask)-1]
		ask = ask[:len(ask)-1]
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimLeft(line, " "), "--") {
				continue
			}
			for _, word := range strings.FieldsFunc(line, func(r rune) bool { return !isOfName(byte(r)) }) {
				if i, is := by[word]; is {
					delete(by, word)
					ask = append(ask, parts[i].text)
				}
			}
		}
	}
	var b strings.Builder
	for _, p := range parts {
		if _, unused := by[p.name]; !unused {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// withConstants puts the value of each constant where its name stands.
func withConstants(source string) string {
	b := make([]byte, 0, len(source))
	taken, begin := 0, 0 // up to where the source was taken, and where the word began
	for i := 0; i <= len(source); i++ {
		if i < len(source) && isOfName(source[i]) {
			continue
		}
		if begin < i && source[begin] <= 'Z' { // most words begin with a small letter
			if value, is := constants[source[begin:i]]; is {
				b = strconv.AppendInt(append(b, source[taken:begin]...), value, 10)
				taken = i
			}
		}
		begin = i + 1
	}
	return string(append(b, source[taken:]...))
}

func isOfName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
