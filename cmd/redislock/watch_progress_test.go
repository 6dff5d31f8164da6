package main

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A search that finds nothing for long says how far it is all the same.
func TestWatchProgress(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	pipe := server.Client(t).Pipeline()
	for i := range 2000 {
		pipe.Set(t.Context(), fmt.Sprint("cache:", i), "x", time.Hour)
	}
	_, err := pipe.Exec(t.Context())
	check.NoError(t, err)
	slow := redistest.NewRelay(t, server.Addr())
	slow.DelayReplies(100 * time.Millisecond) // and a search takes 10 of them
	_, stderr, status := runTool(t, "watch", "--count", "1", "--redis", "redis://"+slow.Addr())
	if status != 0 || !regexp.MustCompile(`searching, [1-9][0-9]? %, 0 locks`).MatchString(stderr) {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}
