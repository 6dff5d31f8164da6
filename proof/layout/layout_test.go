package main

import (
	"path/filepath"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// No figure is above its limit, and each figure has one.
func TestLimits(t *testing.T) {
	t.Parallel()
	redistest.Need(t, "redis-server")
	lib := check.Must[*tree](t)(readTree(t.Context(), filepath.Join("..", "..")))
	found := check.Must[figures](t)(lib.structure(t.Context()))
	routes := check.Must[map[string]route](t)(lib.walk(t.Context()))
	addTo(found, routes)
	for _, figure := range above(found, limits) {
		t.Error(figure)
	}
	t.Log(check.Must[string](t)(table(found)))
	if t.Failed() {
		t.Log(list(routes))
	}
}
