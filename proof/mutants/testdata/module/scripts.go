package fixture

import (
	_ "embed"
	"strings"

	"example.com/fixture/wire"
)

//go:embed act.lua
var actLua string

//go:embed lua/values.lua
var valuesLua string

var actScript = newScript("act", actLua)

func newScript(name, body string) *wire.Script {
	return wire.NewScript(name, strings.ReplaceAll(body, "--#include values.lua\n", valuesLua))
}

// Act is what is sent.
func Act() string { return wire.Send(actScript) }
