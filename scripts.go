package redislock

import (
	_ "embed"
	"strings"

	"github.com/seed-14de3678/redislock/internal/wire"
)

// Codes are what a script says first in its reply; in Lua they have the names of this list in capitals. A
// reply is a code alone, or an array that begins with it.
const (
	done     = 1  // all of it was done
	refused  = 0  // nothing was done: somebody is in the way, or something; which stands behind the code
	notYours = -1 // keys are not the token's; their indexes stand behind the code
	inLine   = -2 // nothing was done, and the caller stands in line; why and where stands behind the code
	// There is one more: overtaken, that nothing was done because a later request was executed before.
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

//go:embed batch.lua
var batchLua string

// batchScript does many plain calls at once.
var batchScript = newScript("batch", batchLua)

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
	*wire.Script
	lined bool // behind its lock keys there are as many lines
}

func newScript(name, body string) *script {
	lined := strings.Contains(body, "--#include line.lua\n")
	return &script{wire.NewScript(name, includes.Replace(body)), lined}
}
