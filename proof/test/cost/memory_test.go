package cost_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/world"
)

// luaGrows returns by how much the memory of the scripts has grown while fn ran. A script that has looked at all members
// of a set leaves them there: they are not collected before it has grown to twice as much.
func (m *meter) luaGrows(t *testing.T, fn func()) int {
	t.Helper()
	used := func() int {
		n := world.Info(t, m.admin, "Memory", "used_memory_lua")
		if n == 0 {
			t.Skip("the server does not say how much memory its scripts use")
		}
		return n
	}
	before := used()
	fn()
	return used() - before
}

// notLookedAt checks that the scripts that run while fn runs do not look at all members of a large set. It is best done
// behind SCRIPT FLUSH, which empties their memory.
func (m *meter) notLookedAt(t *testing.T, what string, fn func()) {
	t.Helper()
	const most = 1 << 20 // the members take several times as much
	grown := m.luaGrows(t, fn)
	t.Logf("%s: the scripts' memory grows by %d bytes, at most %d", what, grown, most)
	if grown > most {
		t.Errorf("%s: the scripts' memory has grown by %d bytes, want at most %d", what, grown, most)
	}
}
