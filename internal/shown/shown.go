// Package shown prints the locks of every package: their keys, their modes, and how long they are certain. Its Duration
// writes all times that people read. It never prints a token, with which a reader of a log could release the lock.
package shown

import (
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// A Lock is what is printed of a lock.
type Lock struct {
	Write, Read []string
	Unknown     []string  // keys with an unknown mode
	Until       time.Time // it is certain until then; zero: that is not known
	Ended       string    // how it has ended, if it has: "released" or "lost"
}

// mostKeys is how many keys of a mode are printed.
const mostKeys = 8

// String is the lock in one line.
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

// LogValue is the lock in fields.
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
	return slog.GroupValue(append(fields, slog.String("state", l.left()))...)
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
