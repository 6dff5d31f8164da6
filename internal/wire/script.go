// Package wire brings runs of Lua scripts to Redis: together with others that are asked for at the same
// time, again if they were not answered, and to replicas. It knows nothing of what the scripts do.
package wire

import (
	"crypto/fips140"
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
)

// A Script is a Lua script as it is sent. It never changes.
type Script struct {
	name   string
	source any // string; kept boxed, as it is handed to go-redis
	sha    any // string: the name under which the server caches the source
}

// all has every script that was made, by the name under which the server caches it, and by its source.
var all sync.Map // string → *Script

// NewScript makes a script. Its name is for errors, and for whoever watches what is sent.
func NewScript(name, source string) *Script {
	var sum [sha1.Size]byte
	// The sum is the name that Redis gives to a script and protects nothing, so a process that
	// is held to FIPS 140-3 may make it. Asking the server for it (SCRIPT LOAD) would cost a
	// round trip and one more command in the user's ACL.
	fips140.WithoutEnforcement(func() { sum = sha1.Sum([]byte(source)) })
	s := &Script{name: name, source: source, sha: hex.EncodeToString(sum[:])}
	all.Store(s.sha, s)
	all.Store(source, s)
	return s
}

// Sent finds the script that an EVAL or EVALSHA runs, by the first argument of that; nil if it is none of
// those that were made here. Tests recognise with it what is sent.
func Sent(argument string) *Script {
	s, ok := all.Load(argument)
	if !ok {
		return nil
	}
	return s.(*Script)
}

// Scripts returns every script that was made, by name.
func Scripts() []*Script {
	var scripts []*Script
	all.Range(func(key, s any) bool {
		if s := s.(*Script); key == s.sha {
			scripts = append(scripts, s)
		}
		return true
	})
	slices.SortFunc(scripts, func(a, b *Script) int { return strings.Compare(a.name, b.name) })
	return scripts
}

// Name returns the name of the script.
func (s *Script) Name() string { return s.name }

// Source returns the Lua of the script.
func (s *Script) Source() string { return s.source.(string) }

// SHA returns the name under which the server caches the source.
func (s *Script) SHA() string { return s.sha.(string) }

// invocation returns the command and its first argument.
func (s *Script) invocation(withSource bool) (command, argument any) {
	if withSource {
		return "eval", s.source
	}
	return "evalsha", s.sha
}
