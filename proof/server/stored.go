package server

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// This file is what the library stores, and how it is written: the values under which keys are held, the entries of
// waiters, the scores of guards, and the fields of the numbers. Nothing else knows how any of it looks in Redis.

// A Value is what holds a key: `token` or `token|metadata`. One without a token is nobody's: its owner has left the key. That
// metadata may be a caller's id and metadata, `|id|metadata`, is nothing to the scripts.
type Value string

// Token is who holds a key under the value.
func (v Value) Token() string { token, _, _ := strings.Cut(string(v), "|"); return token }

// Metadata is what its owner has written beside its token.
func (v Value) Metadata() string { _, metadata, _ := strings.Cut(string(v), "|"); return metadata }

// IsLeft reports whether the owner has left the key.
func (v Value) IsLeft() bool { return strings.HasPrefix(string(v), "|") }

// Left is what stands in the place of the value when its owner has left the key.
func (v Value) Left() Value { return "|" + Value(v.Metadata()) }

// IsValid reports whether the text can be a value of the library.
func (v Value) IsValid() bool { return v != "" && len(v.Token()) <= mostToken }

var (
	madeToken = regexp.MustCompile(`^[0-9A-Za-z_-]{30}$`)
	madeAt    = regexp.MustCompile(`^A[N-Za-z]`)
)

// Since is the part of the token that says when the library has made it; empty if it has not.
func (v Value) Since() string {
	token := v.Token()
	if !madeToken.MatchString(token) || !madeAt.MatchString(token) {
		return ""
	}
	return token[:8]
}

// A Mode is how a key is held, or wanted, or what else is in the way of it.
type Mode string

// The modes. A key of which the owner has left has one of the first two with `-left` behind it.
const (
	Write     Mode = "write"
	Read      Mode = "read"
	Free      Mode = "free"
	Foreign   Mode = "foreign"   // no lock
	Intent    Mode = "intent"    // a writer has declared that it wants the key
	Queue     Mode = "queue"     // somebody waits who came before
	Restarted Mode = "restarted" // the server has not been up for long enough
)

// under is how a key is held in this mode under a value.
func (m Mode) under(v Value) Mode {
	if v.IsLeft() {
		return m + "-left"
	}
	return m
}

// letter is the mode as entries say it.
func (m Mode) letter() string { return string(m[:1]) }

func modeOf(letter string) Mode {
	if letter == "w" {
		return Write
	}
	return Read
}

// An Entry is one of a line: a waiter, or a text that is nobody's. Of one that is nobody's only Text and Place are known, so it counts
// as that of a waiter that has died.
type Entry struct {
	Text    string
	Place   float64
	ID      string // of the waiter; empty if the entry is nobody's
	Till    int64  // for how long it counts as alive, ms of the server's clock
	Mode    Mode   // in which it wants this key
	Sharded bool   // its channel
	Fenced  bool   // it wants a fencing number
	Home    bool   // this key is the first of several, and the entry names all
	TTL     int64  // of the lease that it wants, ms
	Keys    int    // how many it wants
	Channel string
	Names   []Name // all keys that it wants, where that is the home; else the home; none if the names cannot be read
	Value   Value  // under which it will hold them

	names string
	more  string // letters that nobody knows
}

// A Name is a key that a waiter wants.
type Name struct {
	Key  string
	Mode Mode
}

var entryForm = regexp.MustCompile(`(?s)^([^|]+)\|(\d+)\|([wr][ps][f-][h-][A-Za-z]*)\|([1-9]\d*)\|(\d+)\|(\d+)\|(\d+)\|(.*)$`)

// EntryOf reads an entry.
func EntryOf(m Member) Entry {
	e := Entry{Text: m.Text, Place: m.Score}
	f := entryForm.FindStringSubmatch(m.Text)
	if f == nil || len(f[2]) > 15 || len(f[4]) > 12 || len(f[5]) > 9 || len(f[6]) > 9 || len(f[7]) > 9 {
		return e
	}
	how := f[3]
	e.ID, e.Mode, e.Sharded, e.Fenced, e.Home = f[1], modeOf(how[:1]), how[1] == 's', how[2] == 'f', how[3] == 'h'
	e.Till, e.TTL, e.Keys, e.more = number(f[2]), number(f[4]), int(number(f[5])), how[4:]
	rest := f[8]
	channel, names := min(int(number(f[6])), len(rest)), int(number(f[7]))
	e.Channel, rest = rest[:channel], rest[channel:]
	e.names, e.Value = rest[:min(names, len(rest))], Value(rest[min(names, len(rest)):])
	e.Names = namesOf(e.names, e.Home)
	return e
}

// number reads digits. Anything else is 0.
func number(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

// namesOf reads the names of an entry.
func namesOf(text string, home bool) (names []Name) {
	if !home {
		return []Name{{Key: text}}
	}
	for text != "" {
		length, rest, ok := strings.Cut(text[1:], ":")
		n, err := strconv.Atoi(length)
		if !ok || err != nil || n < 0 || n > len(rest) {
			return nil
		}
		names = append(names, Name{rest[:n], modeOf(text[:1])})
		text = rest[n:]
	}
	return names
}

// String writes an entry.
func (e Entry) String() string {
	flag := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	return fmt.Sprintf("%s|%d|%s%s%s%s%s|%d|%d|%d|%d|%s%s%s", e.ID, e.Till, e.Mode.letter(), flag(e.Sharded, "s", "p"),
		flag(e.Fenced, "f", "-"), flag(e.Home, "h", "-"), e.more, e.TTL, e.Keys, len(e.Channel), len(e.names), e.Channel, e.names, e.Value)
}

// aliveUntil is the text of an entry with another end.
func (e Entry) aliveUntil(till int64) string {
	_, rest, _ := strings.Cut(e.Text[len(e.ID)+1:], "|")
	return fmt.Sprintf("%s|%d|%s", e.ID, till, rest)
}

// name is what messages call the waiter.
func (e Entry) name() string { return nameOf(e.ID) }

func nameOf(id string) string { return id[:min(len(id), nameLength)] }

// isOf reports whether an entry is that of a waiter, as far as its beginning says it.
func (m Member) isOf(id string) bool { return strings.HasPrefix(m.Text, id+"|") }

// IsGuard reports whether a member of a line is a guard: they stand behind all places.
func (m Member) IsGuard() bool { return m.Score >= guards }

// A Guard says of an owner: nothing below this number, until then.
type Guard struct {
	Number float64
	End    float64 // s
}

// GuardOf reads the score of a guard.
func GuardOf(score float64) Guard {
	rest := score - guards
	number := math.Mod(rest, numbers)
	return Guard{number, (rest - number) / numbers}
}

// Score is how a line has the guard.
func (g Guard) Score() float64 { return guards + g.End*numbers + g.Number }

// hasEnded reports whether a guard is over at this ms. It lasts to the end of its second.
func (m Member) hasEnded(now int64) bool {
	return m.IsGuard() && m.Score < guards+float64(now/1000+1)*numbers
}

// The fields of the numbers of a key: the greatest of all, and that of the hold that writes it, with its token. The field
// of another token is the number of its hold to read the key.
const (
	Greatest = ""
	writes   = "|"
)

// written is the number of a hold that writes a key, as it stands in the field `writes`.
func written(number, token string) string { return number + "|" + token }

// millis is how a command is given a score, or a moment: without a fraction.
func millis(score float64) float64 { return math.Trunc(score) }

// numberOf reads what stands in a field of a hold: its number, and the token if it writes the key.
func numberOf(text string) (n float64, token string) {
	digits, token, _ := strings.Cut(text, "|")
	return float64(number(digits)), token
}
