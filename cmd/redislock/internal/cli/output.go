package cli

import (
	"encoding/json"
	"flag"
	"io"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// JSONFlag declares the flag -json.
func JSONFlag(flags *flag.FlagSet) *bool {
	return flags.Bool("json", false, "write one JSON object a line")
}

// WriteJSON writes one object as one line.
func WriteJSON(w io.Writer, object any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(object)
}

// Text makes a key or metadata fit to be shown: as it is if it is printable, has no space at its ends and is not empty, else quoted. So
// nothing that is stored in Redis can move the cursor of a terminal.
func Text(s string) string {
	if s == "" || !utf8.ValidString(s) || s[0] == ' ' || s[len(s)-1] == ' ' || s[0] == '"' {
		return strconv.Quote(s)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}

// Duration rounds a duration to what people read: three digits or so.
func Duration(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
		if d.Abs() >= 100*unit {
			return d.Round(unit).String()
		}
	}
	if d.Abs() >= time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
