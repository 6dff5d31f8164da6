package cli

import (
	"cmp"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
)

// Somebody names a holder or a waiter: by the metadata, of which at most so many columns are shown (0: all), and by the caller's id.
func Somebody(metadata, caller string, most int) string {
	text := Text(metadata)
	if most > 0 {
		text = cells.Short(text, most)
	}
	switch {
	case metadata == "" && caller == "":
		return "somebody"
	case metadata == "":
		return "caller=" + Text(caller)
	case caller == "":
		return text
	}
	return text + " caller=" + Text(caller)
}

// Foreign says what a foreign key holds: one that holds something that is no lock, so that nobody can lock it.
func Foreign(s redislock.KeyState) string {
	text := "a " + Text(cmp.Or(s.Type, "value"))
	if s.TTL < 0 {
		text += " without a TTL"
	}
	return text
}

// Mode is the mode of a key, and of a foreign one what it holds.
func Mode(s redislock.KeyState) string {
	if s.Mode == redislock.ModeForeign {
		return "foreign: " + Foreign(s)
	}
	return string(s.Mode)
}

// Clock is a moment of these days in the local time, "-" if it is not known.
func Clock(at time.Time) string {
	switch age := time.Since(at).Abs(); {
	case at.IsZero():
		return "-"
	case age < 20*time.Hour:
		return at.Local().Format("15:04:05")
	case age < 300*24*time.Hour:
		return at.Local().Format("Jan 02 15:04")
	}
	return at.Local().Format("2006-01-02")
}
