// Package install_test installs each module of the repo as a user does: into an empty module outside of the repo, from a
// module proxy that is a folder made of this checkout.
//
//   - tree_test.go says which files a commit of the checkout would have.
//   - module_test.go finds the modules, and says what a go.mod must have so that users can install the module.
//   - workspace_test.go holds go.work to the modules.
//   - version_test.go says under which version each module is offered.
//   - proxy_test.go writes the folder.
//   - user_test.go is the user: what is run, and what may be used for it.
//   - install_test.go installs, and fault_test.go shows that it notices what would stop a user.
//   - download_test.go counts what users of the root download.
//   - comment_test.go looks at what users read first of each package.
//
// Modules of others come from the module cache of this machine, into which `go mod download` puts them first. The module
// cache of the user is a folder of its own, because no version is to stay in that of the machine that has never been
// released. Since -trimpath keeps the name of that folder out of what is compiled, the build cache is shared all the same.
package install_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
