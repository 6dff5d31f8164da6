package redislock

import (
	"embed"
	"strconv"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file is what the scripts share: what they say in their replies, what they and this package agree on,
// and the Lua that they include. How each is called, and its reply read, stands where its source is embedded.

// Codes are what a script says first in its reply, which is a code alone, or an array that begins with it.
const (
	done      = wire.BundleDone    // all of it was done
	refused   = wire.BundleRefused // nothing was done: somebody is in the way, or something; which stands behind the code
	notYours  = -1                 // keys are not the token's: their indexes stand behind the code
	inLine    = -2                 // nothing was done, and the caller stands in line: why and where stands behind the code
	overtaken = -3                 // nothing was done, because a later request was executed before
)

const (
	// mostOperands is how many keys one command of a script is given at most: unpack fails near 8 000 values.
	mostOperands = 1000
	// exactNumbers is up to where a script counts exactly: its numbers are floating-point ones.
	exactNumbers = 1 << 53
	// guards is the least score of a guard in a line: every place is smaller.
	guards = 1 << 52
	// mostTold is how many waiters of one line a script tells when a lease is over, beside the first.
	mostTold = 8
	// guardSlack is for how much longer than it stands a guard is reckoned with.
	guardSlack = 10 * time.Second
)

// constants are what Lua and Go both know. In the source of a script the names stand for the values; luacheck
// knows them from .luacheckrc.
var constants = map[string]int64{
	"DONE":       done,
	"REFUSED":    refused,
	"NOT_YOURS":  notYours,
	"IN_LINE":    inLine,
	"OVERTAKEN":  overtaken,
	"CHUNK":      mostOperands,
	"MOST":       exactNumbers,
	"MOST_TOKEN": maxToken,
	"ASKS_AGAIN": clock.Millis(askAgain), // ms: a waiter need not be told when a lease is over that lasts longer
	"GUARDS":     guards,
	"NUMBERS":    owners.LastNumber + 1,
	"LIFE":       clock.Millis(waiterLife), // ms
	"NAME":       listen.NameLength,
	"MOST_TOLD":  mostTold,
	"GUARD_LIFE": int64((owners.GuardLife - guardSlack) / time.Second), // s; a kernel resends what a closed connection has left for some 100 s
}

// luaFiles are the parts of which scripts include some.
//
//go:embed lua/*.lua
var luaFiles embed.FS

//go:embed batch.lua
var batchLua string

// batchScript does many plain calls at once: see the bundles of package wire.
var batchScript = newScript("batch", batchLua)

// A script is one of the Lua scripts of this package.
type script struct {
	*wire.Script
	lined bool // behind its lock keys there are as many lines
}

// newScript makes a script. What stands in its body is replaced when the source is first needed, so that a
// program that imports the package begins no later for it.
func newScript(name, body string) *script {
	lined := strings.Contains(body, "--#include line.lua\n")
	return &script{wire.NewScript(name, func() string { return withConstants(assembled(body)) }), lined}
}

// assembled puts in the place of each line that includes a file what the script uses of it: a run pays for each function
// that it makes.
func assembled(body string) string {
	const mark = "--#include "
	var parts []piece
	for line := range strings.Lines(body) {
		name, is := strings.CutPrefix(line, mark)
		if !is {
			parts = append(parts, piece{text: line})
			continue
		}
		file, err := luaFiles.ReadFile("lua/" + strings.TrimSuffix(name, "\n"))
		if err != nil {
			panic(err) // it is missing in this package
		}
		parts = append(parts, piecesOf(string(file))...)
	}
	return used(parts)
}

// A piece of a script is a function, or a constant, that it may not use, with the comment above; or any other text.
type piece struct {
	text string
	name string // of that function or constant; else empty
}

// piecesOf divides a file into pieces.
func piecesOf(file string) (parts []piece) {
	var now piece
	inFunction := false
	for line := range strings.Lines(file) {
		rest, isLocal := strings.CutPrefix(line, "local ")
		function, isFunction := strings.CutPrefix(rest, "function ")
		if isLocal && !inFunction {
			now.name = function[:strings.IndexFunc(function, func(r rune) bool { return !isOfName(byte(r)) })]
			inFunction = isFunction
		}
		now.text += line
		if inFunction && line != "end\n" || !inFunction && !isLocal && line != "\n" {
			continue // a comment belongs to what follows
		}
		parts = append(parts, now)
		now, inFunction = piece{}, false
	}
	return append(parts, now)
}

// used joins the pieces that are used by what has no name, or by others that are.
func used(parts []piece) string {
	by := make(map[string]int, len(parts)) // the places of those that are left out as yet
	var ask []string
	for i, p := range parts {
		if p.name != "" {
			by[p.name] = i
		} else {
			ask = append(ask, p.text)
		}
	}
	for len(ask) > 0 {
		text := ask[len(ask)-1]
		ask = ask[:len(ask)-1]
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimLeft(line, " "), "--") {
				continue
			}
			for _, word := range strings.FieldsFunc(line, func(r rune) bool { return !isOfName(byte(r)) }) {
				if i, is := by[word]; is {
					delete(by, word)
					ask = append(ask, parts[i].text)
				}
			}
		}
	}
	var b strings.Builder
	for _, p := range parts {
		if _, unused := by[p.name]; !unused {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// withConstants puts the value of each constant where its name stands.
func withConstants(source string) string {
	b := make([]byte, 0, len(source))
	taken, begin := 0, 0 // up to where the source was taken, and where the word began
	for i := 0; i <= len(source); i++ {
		if i < len(source) && isOfName(source[i]) {
			continue
		}
		if begin < i && source[begin] <= 'Z' { // most words begin with a small letter
			if value, is := constants[source[begin:i]]; is {
				b = strconv.AppendInt(append(b, source[taken:begin]...), value, 10)
				taken = i
			}
		}
		begin = i + 1
	}
	return string(append(b, source[taken:]...))
}

func isOfName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// flag is how scripts are told yes or no.
func flag(yes bool) string {
	if yes {
		return "1"
	}
	return ""
}
