package world

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// WantSays checks the next line that a process prints.
func WantSays(t *testing.T, p *redistest.Process, want string) {
	t.Helper()
	if got := check.Must[string](t)(p.ReadLine(time.Minute)); got != want {
		t.Fatalf("the process says %q, want %q", got, want)
	}
}
