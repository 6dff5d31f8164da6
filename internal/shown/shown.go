// Package shown is how a lock is printed, whichever package it is of: its keys, their modes, and how long it is certain. All
// times that people read are written by its Duration.
// It never has a token, which whoever reads a log could release the lock with.
package shown

import (
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// A Lock is what is printed of one.
type Lock struct {
	Write, Read []string
	Unknown     []string  // keys of which the mode is not known
	Until       time.Time // it is certain; zero: nobody knows
	Ended       string    // how it has ended, if it has: "released" or "lost"
}

// mostKeys is how many keys of a mode are printed.
const mostKeys = 8

// String says it in one line.
func (l Lock) String() string {
	var b strings.Builder
	list(&b, "write", l.Write)
	list(&b, "read", l.Read)
	list(&b, "keys", l.Unknown)
	if b.Len() == 0 {
		return "no lock"
	}
	return b.String() + ", " + l.left()
}

// LogValue says it in fields.
func (l Lock) LogValue() slog.Value {
	var fields []slog.Attr
	for _, keys := range []struct {
		name string
		keys []string
	}{{"write", l.Write}, {"read", l.Read}, {"keys", l.Unknown}} {
		if len(keys.keys) > 0 {
			fields = append(fields, slog.Any(keys.name, keys.keys[:min(len(keys.keys), mostKeys)]))
		}
		if more := len(keys.keys) - mostKeys; more > 0 {
			fields = append(fields, slog.Int("more_"+keys.name, more))
		}
	}
	if len(fields) == 0 {
		return slog.StringValue(l.String())
	}
	return slog.GroupValue(append(fields, slog.String("left", l.left()))...)
}

// left says for how much longer the lock is certain.
func (l Lock) left() string {
	left := time.Until(l.Until)
	switch {
	case l.Ended != "":
		return l.Ended
	case l.Until.IsZero():
		return "time left not known"
	case left <= 0:
		return "time over"
	}
	return Duration(left) + " left"
}

func list(b *strings.Builder, mode string, keys []string) {
	for i, key := range keys {
		switch {
		case i == mostKeys:
			b.WriteString(" and " + strconv.Itoa(len(keys)-i) + " more")
			return
		case i > 0:
			b.WriteString(", ")
		case b.Len() > 0:
			b.WriteString("; " + mode + " ")
		default:
			b.WriteString(mode + " ")
		}
		b.WriteString(strconv.Quote(key))
	}
}
