package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// On a terminal of 80 columns no line is longer, and everything that matters is there.
func TestLsOnTerminal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	client := redislock.New(server.Client(t))
	t.Cleanup(client.Close)
	for _, key := range []string{"orders:17", strings.Repeat("long:", 30) + "9"} {
		opt := redislock.Options{Metadata: redislock.InstanceMetadata(), Fenced: true}
		check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, time.Hour, &opt))
	}
	y := newTTY(t, 80, 24)
	status := y.run(newProcess(t, "ls", "--redis", "redis://"+server.Addr())).status(t)
	lines := strings.Split(strings.TrimSuffix(y.all(), "\r\n"), "\r\n")
	if status != 0 || len(lines) != 5 || lines[3] != "" || lines[4] != "2 keys, 0 are waited for" {
		t.Fatalf("exit status %d, %q", status, lines)
	}
	for _, line := range lines[:3] {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.HasPrefix(lines[1], "long:") || !strings.Contains(lines[1], "…") || !strings.HasPrefix(lines[2], "orders:17 ") {
		t.Errorf("got %q", lines)
	}
}
