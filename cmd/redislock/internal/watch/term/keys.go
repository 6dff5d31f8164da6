package term

import (
	"cmp"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A Key is a key that was pressed: a character, or one of the names below.
type Key string

// The keys that are no characters.
const (
	Up        Key = "up"
	Down      Key = "down"
	Left      Key = "left"
	Right     Key = "right"
	PageUp    Key = "page up"
	PageDown  Key = "page down"
	Home      Key = "home"
	End       Key = "end"
	Enter     Key = "enter"
	Escape    Key = "escape"
	Backspace Key = "backspace"
	Redraw    Key = "redraw"  // Ctrl-L
	Erase     Key = "erase"   // Ctrl-U
	Unknown   Key = "unknown" // a sequence that means nothing here

	interrupt Key = "interrupt" // Ctrl-C
	quit      Key = "quit"      // Ctrl-\
	stop      Key = "stop"      // Ctrl-Z
)

// sequences are what follows ESC.
var sequences = map[string]Key{
	"[A": Up, "OA": Up, "[B": Down, "OB": Down, "[C": Right, "OC": Right, "[D": Left, "OD": Left,
	"[5~": PageUp, "[6~": PageDown,
	"[H": Home, "OH": Home, "[1~": Home, "[7~": Home, "[F": End, "OF": End, "[4~": End, "[8~": End,
}

// controls are the control characters that are keys.
var controls = map[byte]Key{
	'\r': Enter, '\n': Enter, 0x7f: Backspace, '\b': Backspace, 0x0c: Redraw, 0x15: Erase, 0x02: PageUp, 0x06: PageDown,
	0x03: interrupt, 0x1c: quit, 0x1a: stop,
}

// ParseKeys returns the first key of what a terminal has sent, and what follows it. The key is empty if the input ends in the
// middle of one, unless nothing more is to come: then ESC is the key Escape.
func ParseKeys(input string, isAll bool) (Key, string) {
	switch {
	case input == "":
		return "", ""
	case input[0] == 0x1b:
		return parseEscape(input, isAll)
	case controls[input[0]] != "":
		return controls[input[0]], input[1:]
	case input[0] < ' ':
		return Unknown, input[1:]
	case !utf8.FullRuneInString(input) && !isAll:
		return "", input
	}
	r, n := utf8.DecodeRuneInString(input)
	if r == utf8.RuneError {
		return Unknown, input[n:]
	}
	return Key(input[:n]), input[n:]
}

// whole is a sequence that is complete: of three characters, or up to its letter, or broken off by the next one.
// begun is one that is not.
var (
	whole = regexp.MustCompile("^\x1b(?:O(?s:.)|\\[[^@-~\x1b]*[@-~\x1b])")
	begun = regexp.MustCompile("^\x1b(?:O|\\[[^@-~\x1b]*)?$")
)

// parseEscape reads the key ESC, or a sequence that begins so.
func parseEscape(input string, isAll bool) (Key, string) {
	sequence := strings.TrimSuffix(whole.FindString(input), "\x1b")
	switch {
	case sequence != "":
		return cmp.Or(sequences[sequence[1:]], Unknown), input[len(sequence):]
	case !isAll && begun.MatchString(input):
		return "", input
	}
	return Escape, input[1:]
}
