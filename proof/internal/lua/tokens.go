// Package lua reads scripts: what they are made of, and what each of their functions has to keep.
package lua

import (
	"fmt"
	"strings"
)

// A Kind of token of Lua.
type Kind int

// The kinds. EndOfFile is that of a token without text, which stands behind all others.
const (
	EndOfFile Kind = iota
	Name
	Numeral
	Quoted
	Symbol
	Keyword
)

// A Token is a word of Lua, and where it stands.
type Token struct {
	Kind       Kind
	Text       string
	Start, End int
}

var keywords = map[string]bool{}

func init() {
	for _, word := range strings.Fields(`and break do else elseif end false for function if in local nil not or repeat return then true
		until while`) {
		keywords[word] = true
	}
}

// symbols of Lua 5.1, the longest first.
var symbols = []string{
	"...", "..", "==", "~=", "<=", ">=", "+", "-", "*", "/", "%", "^", "#", "<", ">", "=", "(", ")", "{", "}", "[", "]", ";", ":",
	",", ".",
}

// Tokens takes a script apart; comments are left out.
func Tokens(source string) ([]Token, error) {
	var all []Token
	for at := 0; ; {
		at = skipBlank(source, at)
		if at >= len(source) {
			return append(all, Token{EndOfFile, "", len(source), len(source)}), nil
		}
		kind, end := tokenAt(source, at)
		if end <= at {
			return nil, fmt.Errorf("byte %d: no token of Lua: %.10q", at, source[at:])
		}
		all = append(all, Token{kind, source[at:end], at, end})
		at = end
	}
}

// skipBlank returns where the next token begins.
func skipBlank(source string, at int) int {
	for at < len(source) {
		switch {
		case strings.ContainsRune(" \t\r\n", rune(source[at])):
			at++
		case strings.HasPrefix(source[at:], "--"):
			if end := longEnd(source, at+2); end > 0 {
				at = end
			} else if n := strings.IndexByte(source[at:], '\n'); n >= 0 {
				at += n
			} else {
				return len(source)
			}
		default:
			return at
		}
	}
	return at
}

// longEnd returns where a text in long brackets ends that begins here; 0 if none does.
func longEnd(source string, at int) int {
	level := at + 1
	for level < len(source) && source[level] == '=' {
		level++
	}
	if at >= len(source) || source[at] != '[' || level >= len(source) || source[level] != '[' {
		return 0
	}
	closing := "]" + source[at+1:level] + "]"
	n := strings.Index(source[level:], closing)
	if n < 0 {
		return 0
	}
	return level + n + len(closing)
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// tokenAt returns what begins here, and where it ends.
func tokenAt(source string, at int) (Kind, int) {
	c := source[at]
	end := at
	switch {
	case isLetter(c):
		for end < len(source) && (isLetter(source[end]) || isDigit(source[end])) {
			end++
		}
		if keywords[source[at:end]] {
			return Keyword, end
		}
		return Name, end
	case isDigit(c):
		for end < len(source) && (isLetter(source[end]) || isDigit(source[end]) || source[end] == '.' && end+1 < len(source) &&
			isDigit(source[end+1])) {
			end++
		}
		return Numeral, end
	case c == '\'' || c == '"':
		for end = at + 1; end < len(source) && source[end] != c; end++ {
			if source[end] == '\\' {
				end++
			}
		}
		return Quoted, end + 1
	}
	if end := longEnd(source, at); end > 0 {
		return Quoted, end
	}
	for _, s := range symbols {
		if strings.HasPrefix(source[at:], s) {
			return Symbol, at + len(s)
		}
	}
	return EndOfFile, at
}
