// Package proto is what Go and the Lua scripts agree on: which scripts there are, how each is called, and what it
// replies. Nothing else in Go knows where an argument stands, what a code means, or what a letter allows.
//
// A request, such as [Obtain] or [Release], has a field for each argument of its script, and fills a [Run]. The Run is
// sent, and reads the reply. Only the pub/sub messages are not here: package listen has them.
package proto

import (
	"strconv"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

const (
	// MaxToken bounds the length of a token that a caller chooses, in bytes. It is never reduced: a string with a
	// longer token is taken for somebody else's data.
	MaxToken = 512
	// WaiterLife is for how long a waiter counts as alive after it has asked.
	WaiterLife = 15 * time.Second
	// AskAgain is how often a waiter asks again, less a jitter, whatever it hears or does not.
	AskAgain = WaiterLife / 3
	// Block is how many fencing numbers less than its own a hold has that its Client may pass on.
	Block = 15
	// MostFence leaves as many fencing numbers as were ever given by a clock in µs.
	MostFence = exactNumbers / 2

	// mostOperands is the most keys that one command of a script gets: unpack fails near 8 000 values.
	mostOperands = 1000
	// exactNumbers is how far a script counts exactly: its numbers are floating-point ones.
	exactNumbers = 1 << 53
	// guards is the least score of a guard in a line: every place is smaller.
	guards = 1 << 52
	// mostTold is how many waiters of one line, beside the first, a script tells when a lease is over.
	mostTold = 8
	// guardSlack is for how much longer than it stands a guard is counted on.
	guardSlack = 10 * time.Second
)

// constants are what Lua and Go both know. In the source of a script the names stand for the values.
var constants = [...]struct {
	name  string
	value int64
}{
	{"DONE", int64(Done)},
	{"GIVEN", int64(Given)},
	{"REFUSED", int64(Refused)},
	{"NOT_YOURS", int64(NotYours)},
	{"IN_LINE", int64(InLine)},
	{"OVERTAKEN", int64(Overtaken)},
	{"CHUNK", mostOperands},
	{"BLOCK", Block},
	{"MOST", exactNumbers},
	{"MOST_TOKEN", MaxToken},
	{"ASKS_AGAIN", clock.Millis(AskAgain)}, // ms: a waiter need not be told when a lease is over that lasts longer
	{"GUARDS", guards},
	{"NUMBERS", owners.LastNumber + 1},
	{"LIFE", clock.Millis(WaiterLife)}, // ms
	{"NAME", listen.NameLength},
	{"MOST_TOLD", mostTold},
	{"GUARD_LIFE", int64((owners.GuardLife - guardSlack) / time.Second)}, // s; a kernel resends what a closed connection has left for some 100 s
}

// A script is one of the Lua scripts.
type script struct {
	*wire.Script
	lined bool // behind its lock keys stand as many lines
}

// The scripts.
var (
	obtainScript  = newScript("obtain", true)
	rwScript      = newScript("rw", true)
	refreshScript = newScript("refresh", true) // it has none if it never shortens a lease
	convertScript = newScript("convert", true)
	releaseScript = newScript("release", true)
	breakScript   = newScript("break", true)
	raiseScript   = newScript("raise", true)
	pttlScript    = newScript("pttl", false)
	inspectScript = newScript("inspect", false)
	againScript   = newScript("again", true)
	batchScript   = newScript("batch", false)
)

// scripts are all of them.
var scripts = []*script{
	obtainScript, rwScript, refreshScript, convertScript, releaseScript, breakScript, raiseScript, pttlScript,
	inspectScript, againScript, batchScript,
}

// Scripts returns all scripts, for tests and for programs that watch what is sent.
func Scripts() []*wire.Script {
	all := make([]*wire.Script, len(scripts))
	for i, s := range scripts {
		all[i] = s.Script
	}
	return all
}

// Files has the Lua: NAME.lua or lua/NAME.lua is a script, and lua/include/NAME.lua what scripts include.
type Files interface {
	ReadFile(name string) ([]byte, error)
}

var files Files

// Load says where the Lua is. It is called once, by the package that embeds it, before anything is sent.
func Load(from Files) { files = from }

// newScript makes a script of a name. Its source is put together on first use, so that a program that imports the
// package does not start later for it.
func newScript(name string, lined bool) *script {
	return &script{wire.NewScript(name, sourceOf), lined}
}

func sourceOf(name string) string {
	return withConstants(assembled(read(name+".lua", "lua/"+name+".lua")))
}

// read returns the file of Lua that has one of the names.
func read(names ...string) string {
	var missing error
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err == nil {
			return string(text)
		}
		missing = err
	}
	panic(missing) // in this module
}

// assembled replaces the lines that include files by what the script uses of them. A run pays for each function that it makes, so
// each stands right above the first paragraph that needs it: a run that ends before that does not make it.
func assembled(body string) string {
	var b strings.Builder
	unused := map[string]string{} // the paragraphs, by what they declare
	for _, paragraph := range paragraphs(body) {
		for line := range strings.Lines(paragraph) {
			file, is := strings.CutPrefix(line, "--#include ")
			if !is {
				continue
			}
			paragraph = strings.Replace(paragraph, line, "", 1)
			for _, text := range paragraphs(read("lua/include/" + strings.TrimSuffix(file, "\n"))) {
				for _, name := range declares(text) {
					unused[name] = text
				}
			}
		}
		write(&b, paragraph, unused)
	}
	return b.String()
}

// paragraphs divides a script at the empty lines that are in no function or other statement.
func paragraphs(body string) (all []string) {
	begin := 0
	for i := range len(body) - 2 {
		if body[i:i+2] == "\n\n" && body[i+2] != ' ' {
			all = append(all, body[begin:i+2])
			begin = i + 2
		}
	}
	return append(all, body[begin:]+"\n")
}

// declares returns the names of the functions and other locals of a paragraph. Without any it is a comment.
func declares(paragraph string) (names []string) {
	for line := range strings.Lines(paragraph) {
		if declared, isLocal := strings.CutPrefix(line, "local "); isLocal {
			declared, _, _ = strings.Cut(strings.TrimPrefix(declared, "function "), "(")
			declared, _, _ = strings.Cut(declared, " =")
			names = append(names, strings.Split(declared, ", ")...)
		}
	}
	return names
}

// write writes the paragraphs that a text uses, those that they use above them, and then the text.
func write(b *strings.Builder, text string, unused map[string]string) {
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "--")
		for _, word := range strings.FieldsFunc(code, func(r rune) bool { return !isOfName(byte(r)) }) {
			if used, is := unused[word]; is {
				for _, name := range declares(used) {
					delete(unused, name)
				}
				write(b, used, unused)
			}
		}
	}
	b.WriteString(text)
}

// withConstants replaces the name of each constant by its value.
func withConstants(source string) string {
	b := make([]byte, 0, len(source))
	taken, begin := 0, 0 // up to where the source was taken, and where the word began
	for i := 0; i <= len(source); i++ {
		if i < len(source) && isOfName(source[i]) {
			continue
		}
		if begin < i && source[begin] <= 'Z' { // most words begin with a small letter
			for _, c := range constants {
				if c.name == source[begin:i] {
					b = strconv.AppendInt(append(b, source[taken:begin]...), c.value, 10)
					taken = i
				}
			}
		}
		begin = i + 1
	}
	return string(append(b, source[taken:]...))
}

func isOfName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
