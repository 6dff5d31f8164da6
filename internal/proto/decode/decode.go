// Package decode reads how scripts are called, as it was sent: the other direction of package proto, for tests and for
// the rigs that stand between a Client and a server.
package decode

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A Call is one run of a script, as it was sent.
type Call struct {
	Script string
	Keys   []string // all keys of the call
	Set    proto.Set
	Value  string
	TTL    time.Duration
	Stamp  Stamp
	Can    Letters
	Guards []string // lines in which only guards are to be set, after all other keys

	// One of these is the request. Its Set, Value and TTL are the ones above.
	Obtain  *proto.Obtain
	Release *proto.Release // without Keep: see Left
	Refresh *proto.Refresh
	Convert *proto.Convert
	Raise   *proto.Raise
	Held    *proto.TTL
	Break   *proto.Break
	Inspect *proto.Inspect
	Round   []Waiter // of proto.Round, whose keys are the Set
	Batch   []Plain

	// Of a release:
	Left      time.Duration // for how long the keys are to be left
	HasCaller bool          // the channel of the caller is there, which may be empty
	Next      *proto.Next   // who is to get the keys; nil: nobody is known
	Spared    []int         // indexes of the keys that it is not to free, from 0
}

// A Stamp names the owner of a request. Without a stamp the owner is the token, and the number is 0.
type Stamp struct {
	Is     bool // there is a stamp
	Owner  string
	Number int64
	Home   string // the line where it asks for its owner's guard; empty: it does not
	Closes []Closing
}

// A Closing is a guard that is to be set.
type Closing struct {
	Owner  string
	Number int64
	Line   string
}

// Letters say what a script may do.
type Letters struct {
	Block  bool // its hold gets a block of fencing numbers
	Close  bool // it has guards to set
	Fenced bool // fences stand behind the lines of its set
	Keep   bool // read keys that its token writes stay write keys
	Long   bool // no lease is shortened
	Search bool // a reader that is not found under its value is searched for
}

// A Waiter is a waiter of a round.
type Waiter struct {
	ID    string
	Place proto.Place
	Keys  []int // indexes of the Set, from 0
}

// A Plain is one request of a bundle: a set to take, or to release.
type Plain struct {
	Set   proto.Set
	Value string
	TTL   time.Duration // 0: the set is released
}

// Sent finds the script that an EVAL or EVALSHA runs, by its first argument; nil if it is not ours.
func Sent(argument string) *wire.Script {
	for _, s := range proto.Scripts() {
		if argument == s.SHA() || argument == s.Source() {
			return s
		}
	}
	return nil
}

// Words are the arguments of a command as they are sent: some go by reference.
func Words(args []any) []string {
	words := make([]string, 0, len(args))
	for _, arg := range args {
		switch by := arg.(type) {
		case *string:
			arg = *by
		case *int64:
			arg = *by
		}
		words = append(words, fmt.Sprint(arg))
	}
	return words
}

// Command reads a command, from its name on, and reports whether it runs a script of ours as a Client would. For other
// commands only the Script and the Keys are known.
func Command(words ...string) (c Call, is bool) {
	if len(words) < 3 {
		return c, false
	}
	s := Sent(words[1])
	n, err := strconv.Atoi(words[2])
	if s == nil || err != nil || n < 0 || len(words) < 3+n {
		return c, false
	}
	c, err = Decode(s.Name(), words[3:3+n], words[3+n:])
	return c, err == nil
}

// Decode reads the KEYS and ARGV of a script.
func Decode(script string, keys, args []string) (Call, error) {
	r := &reader{Call: Call{Script: script, Keys: keys}, keys: keys, args: args}
	switch script {
	case "obtain":
		r.obtain()
	case "rw":
		r.rw()
	case "refresh":
		r.refresh()
	case "convert":
		r.convert()
	case "raise":
		r.raise()
	case "pttl":
		r.head(false)
		r.Held = &proto.TTL{Set: r.Set, Value: &r.Value, Known: r.Can.Search}
	case "release":
		r.release()
	case "break":
		r.breaks()
	case "inspect":
		r.Set = proto.Set{Keys: r.some(1)}
		r.Inspect = &proto.Inspect{Key: r.Set.Keys[0], Line: r.some(1)[0], Intent: r.some(1)[0], Fence: r.some(1)[0]}
	case "again":
		r.again()
	case "batch":
		r.batch()
	default:
		r.bad = true
	}
	r.Guards = r.keys
	if r.bad || len(r.args) > 0 {
		return r.Call, fmt.Errorf("no call of %s: %d keys, %q", script, len(keys), args)
	}
	return r.Call, nil
}

// A reader takes the keys and the arguments of a call from their front.
type reader struct {
	Call
	keys, args []string
	bad        bool // something was missing, or was no number
}

// text takes an argument; it is empty if there is none, as scripts see it.
func (r *reader) text() string {
	if len(r.args) == 0 {
		return ""
	}
	text := r.args[0]
	r.args = r.args[1:]
	return text
}

func (r *reader) parse(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	r.bad = r.bad || err != nil
	return n
}

func (r *reader) number() int64 { return r.parse(r.text()) }

func (r *reader) ms(text string) time.Duration {
	if text == "" {
		return 0
	}
	return time.Duration(r.parse(text)) * time.Millisecond
}

// place takes the place of a waiter that quits.
func (r *reader) place() proto.Place {
	switch text := r.text(); text {
	case "":
		return proto.Place{}
	case "?":
		return proto.Place{}.OrUnknown()
	default:
		return proto.PlaceOf(r.parse(text))
	}
}

// where is the place of a waiter, or its age if it may have no place.
func (r *reader) where(text string) (place proto.Place, age time.Duration) {
	text, unknown := strings.CutPrefix(text, "?")
	number := r.parse(text)
	if number > 0 {
		return proto.PlaceOf(number), 0
	}
	if unknown {
		place = place.OrUnknown()
	}
	return place, time.Duration(-number) * time.Microsecond
}

// some takes so many keys.
func (r *reader) some(n int) []string {
	if n < 0 || n > len(r.keys) {
		r.bad = true
		return make([]string, 1)
	}
	some := r.keys[:n:n]
	r.keys = r.keys[n:]
	return some
}

// set takes n keys, their lines and their fences.
func (r *reader) set(n int, lines, fences bool) (s proto.Set) {
	s.Keys = r.some(n)
	if lines {
		s.Lines = r.some(n)
	}
	if fences {
		s.Fences = r.some(n)
	}
	return s
}

// letters reads the letters.
func (c *Letters) letters(text string) {
	for _, letter := range text {
		switch letter {
		case 'b':
			c.Block = true
		case 'c':
			c.Close = true
		case 'f':
			c.Fenced = true
		case 'k':
			c.Keep = true
		case 'n':
			c.Long = true
		case 's':
			c.Search = true
		}
	}
}

// head takes the arguments that come first, and the set: its lines are there if the script has any.
func (r *reader) head(lines bool) {
	all := r.keys
	r.Value, r.TTL = r.text(), r.ms(r.text())
	n := 1
	shape := r.text()
	switch f := strings.Split(shape, "|"); {
	case len(f) == 3:
		n, r.Set.Writes = int(r.parse(f[0])), int(r.parse(f[1]))
		r.Can.letters(f[2])
	case shape != "":
		n = int(r.parse(shape))
		r.Set.Writes = n
	default:
		r.Set.Writes = 1
	}
	writes := r.Set.Writes
	r.Set = r.set(n, lines, r.Can.Fenced)
	r.Set.Writes = writes
	r.Stamp.Owner, _, _ = strings.Cut(r.Value, "|")
	if len(r.Set.Lines) > 0 {
		r.Stamp.Home = r.Set.Lines[0]
	}
	stamp := r.text()
	if stamp == "" {
		return
	}
	f := strings.Split(strings.TrimSuffix(stamp, "|"), "|")
	if len(f)%3 != 2 || n >= len(all) {
		r.bad = true
		return
	}
	r.Stamp = Stamp{Is: true, Owner: f[0], Number: r.parse(f[1]), Home: all[n]}
	for f = f[2:]; len(f) > 0; f = f[3:] {
		at := int(r.parse(f[2]))
		if at < 1 || at > len(all) {
			r.bad = true
			return
		}
		r.Stamp.Closes = append(r.Stamp.Closes, Closing{f[0], r.parse(f[1]), all[at-1]})
	}
}
