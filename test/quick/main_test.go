// Package quick_test is what the quick suite has beside the tests of the packages themselves: at least one test of each sentence that
// the README guarantees, which ../promises.md lists, and the tests of small packages. The rest of the proof is in the module proof.
package quick_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
