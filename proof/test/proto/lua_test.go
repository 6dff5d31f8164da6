// Package proto_test asks what Go sends to the scripts, and what it makes of their replies. No server is needed for that.
package proto_test

import (
	"io/fs"
	"os"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// The tests do without the package of the library, so that they run in no time after each change of it. So they load the Lua.
func init() { proto.Load(os.DirFS("../../..").(fs.ReadFileFS)) }
