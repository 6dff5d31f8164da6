package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/internal/shown"
)

// JSONFlag declares the flag --json.
func JSONFlag(flags *pflag.FlagSet) *bool {
	return flags.Bool("json", false, "write one JSON object a line")
}

// WriteJSON writes one object as one line. What is not printable is escaped, as Text quotes it: JSON itself asks for that
// of the characters below space alone, and a terminal obeys others, too.
func WriteJSON(w io.Writer, object any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return err
	}
	var safe bytes.Buffer
	for _, r := range strings.TrimSuffix(line.String(), "\n") {
		switch {
		case unicode.IsPrint(r):
			safe.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&safe, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&safe, `\u%04x`, r)
		}
	}
	safe.WriteByte('\n')
	_, err := w.Write(safe.Bytes())
	return err
}

// Text makes a key or metadata fit to be shown: as it is if it is printable, has no space at its ends and is not empty, else quoted. So
// nothing that is stored in Redis can move the cursor of a terminal.
func Text(s string) string {
	special := func(r rune) bool { return !unicode.IsPrint(r) }
	if s == "" || !utf8.ValidString(s) || s[0] == ' ' || s[len(s)-1] == ' ' || s[0] == '"' || strings.ContainsFunc(s, special) {
		return strconv.Quote(s)
	}
	return s
}

// Quote makes a text one word of a shell.
func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Duration writes a time as everything here does that people read: see [shown.Duration].
func Duration(d time.Duration) string {
	text := shown.Duration(d)
	if !UTF8() {
		text = strings.Replace(text, "µ", "u", 1)
	}
	return text
}

// Wrap breaks a line at its spaces. A line that is short enough stays as it is.
func Wrap(text string, width int) (lines []string) {
	for utf8.RuneCountInString(text) > width {
		at, n := -1, 0
		for i, r := range text {
			if n++; n > width+1 {
				break
			}
			if r == ' ' && strings.TrimSpace(text[:i]) != "" {
				at = i
			}
		}
		if at < 0 {
			break // one long word
		}
		lines, text = append(lines, strings.TrimRight(text[:at], " ")), text[at+1:]
	}
	return append(lines, text)
}
