package term

import (
	"regexp"
	"strings"
)

// A key is a character, or a sequence that begins with ESC: ESC O and one character more, or ESC [ up to a letter. ESC by itself,
// and before a character, is nothing.
var pressed = regexp.MustCompile("^(?s:\x1b+(?:O.|\\[[^@-~]*[@-~]|[^O[\x1b])|[^\x1b])")

// NextKey returns the first key of what a terminal has sent, without ESC, and what follows it. The key is empty if the input ends
// in the middle of one.
func NextKey(input string) (key, rest string) {
	key = pressed.FindString(input)
	return strings.TrimLeft(key, "\x1b"), input[len(key):]
}
