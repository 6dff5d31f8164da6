package redislock

import (
	_ "embed"
	"strings"

	"github.com/seed-14de3678/redislock/internal/wire"
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
