package memory

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errGarbled is the error of what is no RESP.
var errGarbled = errors.New("memory: not in RESP")

// parse reads the first command of a text. n is how long it is; 0: its end is still to come.
func parse(text []byte) (c command, n int, err error) {
	if text[0] != '*' {
		return c, 0, errGarbled
	}
	words, head, ok := number(text[1:])
	if !ok {
		return c, 0, nil
	}
	n = 1 + head
	script := false
	for i := range words {
		if n >= len(text) {
			return c, 0, nil
		}
		size, head, ok := number(text[n+1:])
		from := n + 1 + head
		n = from + size + len("\r\n")
		if !ok || n > len(text) {
			return c, 0, nil
		}
		switch word := text[from : from+size]; {
		case i == 0:
			c.name = word
			script = bytes.EqualFold(word, []byte("evalsha")) || bytes.EqualFold(word, []byte("eval"))
		case i == 1 && script:
			c.script = word
		case i == 2 && script:
			if c.keys, _, ok = number(text[from:]); !ok {
				return c, 0, errGarbled
			}
		}
	}
	if c.args = words - 1; script {
		c.args -= 2 + c.keys
	}
	return c, n, nil
}

// number reads a number with the end of its line. It is false if that end is still to come, or it is no number.
func number(text []byte) (value, size int, ok bool) {
	for i, digit := range text {
		switch {
		case digit >= '0' && digit <= '9':
			value = 10*value + int(digit-'0')
		case digit == '\r' && i+1 < len(text):
			return value, i + 2, true
		default:
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// appendReply appends one reply as it was sent.
func appendReply(to []byte, from *bufio.Reader) ([]byte, error) {
	line, err := from.ReadSlice('\n')
	if err != nil {
		return to, err
	}
	to = append(to, line...)
	kind := line[0]
	size, _, counted := number(line[1:]) // -1 is none
	switch kind {
	case '+', '-', ':', '_', '#', ',', '(':
		return to, nil
	case '$', '=', '!':
		if !counted {
			return to, nil
		}
		at := len(to)
		to = append(to, make([]byte, size+len("\r\n"))...)
		_, err := io.ReadFull(from, to[at:])
		return to, err
	case '%':
		size *= 2
	case '*', '~', '>':
	default:
		return to, fmt.Errorf("%w: a reply begins with %q", errGarbled, kind)
	}
	for range size {
		if to, err = appendReply(to, from); err != nil {
			return to, err
		}
	}
	return to, nil
}
