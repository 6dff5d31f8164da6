package fixture

import (
	"embed"
	"io/fs"
	"strings"

	"example.com/fixture/wire"
)

//go:embed *.lua
var luaFiles embed.FS

//go:embed lua/values.lua
var valuesLua string

var actScript = newScript("act", true)

func newScript(name string, _ bool) *wire.Script {
	body, _ := fs.ReadFile(luaFiles, name+".lua")
	return wire.NewScript(name, strings.ReplaceAll(string(body), "--#include values.lua\n", valuesLua))
}

// Act is what is sent.
func Act() string { return wire.Send(actScript) }
