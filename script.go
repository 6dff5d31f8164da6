package redislock

import (
	"crypto/fips140"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"strings"
)

//go:embed shared.lua
var sharedLua string

//go:embed fence.lua
var fenceLua string

//go:embed entry.lua
var entryLua string

//go:embed guard.lua
var guardLua string

//go:embed line.lua
var lineLua string

// includes are the lines of a script in whose place something stands when it is loaded.
var includes = strings.NewReplacer(
	"--#include shared.lua\n", sharedLua,
	"--#include fence.lua\n", fenceLua,
	"--#include entry.lua\n", entryLua,
	"--#include guard.lua\n", guardLua,
	"--#include line.lua\n", lineLua,
)

// A script is one of the Lua scripts of this package.
type script struct {
	name   string
	lined  bool // behind its lock keys there are as many lines
	source any  // string; kept boxed, as it is handed to go-redis
	sha    any  // string: the name under which the server caches the source
}

// invocation returns the command and its first argument.
func (s *script) invocation(withSource bool) (command, argument any) {
	if withSource {
		return "eval", s.source
	}
	return "evalsha", s.sha
}

func newScript(name, body string) *script {
	source := includes.Replace(body)
	var sum [sha1.Size]byte
	// The sum is the name that Redis gives to a script and protects nothing, so a process that
	// is held to FIPS 140-3 may make it. Asking the server for it (SCRIPT LOAD) would cost a
	// round trip and one more command in the user's ACL.
	fips140.WithoutEnforcement(func() { sum = sha1.Sum([]byte(source)) })
	lined := strings.Contains(body, "--#include line.lua\n")
	return &script{name: name, lined: lined, source: source, sha: hex.EncodeToString(sum[:])}
}
