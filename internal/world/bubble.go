package world

import (
	"crypto/fips140"
	"testing"
	"testing/synctest"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// Bubble runs fn in a bubble of testing/synctest, in which time passes at once when everything waits, with a server that
// uses the clock of the bubble.
func Bubble(t *testing.T, fn func(t *testing.T, w *World, mini *redistest.Mini, j *Journal)) {
	t.Helper()
	if fips140.Enforced() {
		t.Skip("under fips140=only random numbers come from the jitter of the clock, which a bubble has not")
	}
	synctest.Test(t, func(t *testing.T) {
		mini := redistest.PipeMini(t)
		j := new(Journal)
		w := New(t, mini, redislock.WithHooks(j.Hooks()))
		fn(t, w, mini, j)
	})
}
