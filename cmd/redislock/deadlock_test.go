package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A deadlock is not to be seen by tree alone: ls ends with it, doctor has a finding, and watch marks its keys at first sight.
func TestDeadlockIsSeen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		a, b          who
		finding, mark string
		status        int
	}{
		"certain":  {request(31), request(40), "fault", "stuck", 1},
		"possible": {instance(3), instance(4), "warning", "slow", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Redis)
			url := "redis://" + server.Addr()
			w := newWaiting(t, redis.NewClient(&redis.Options{Addr: server.Addr()}), "")
			w.deadlock(tt.a, tt.b)
			w.hold(instance(5), "page")
			w.queue(instance(6), "page")

			stdout, stderr, status := runTool(t, "ls", "--redis", url, "page")
			if status != 0 || stderr != "" || !strings.Contains(stdout, "\npage ") {
				t.Errorf("ls of a key beside it: exit status %d: %s%s", status, stdout, stderr)
			}
			stdout, stderr, status = runTool(t, "ls", "--redis", url, "--holder", "nobody")
			if want := "1 " + name + " deadlock: "; status != 0 || !strings.Contains(stderr, "\n"+want) || !strings.HasSuffix(stderr, "; redislock tree --redis "+url+" says more\n") {
				t.Errorf("ls: exit status %d: %s%s, want %q", status, stdout, stderr, want)
			}
			stdout, _, status = runTool(t, "doctor", "--json", "--redis", url, "--only", "deadlocks")
			found := objects(t, stdout)
			if status != tt.status || len(found) != 1 || found[0]["status"] != tt.finding || !strings.Contains(stdout, " → stock:9 → ") {
				t.Errorf("doctor: exit status %d: %s", status, stdout)
			}
			stdout, _, status = runTool(t, "watch", "--json", "--redis", url, "--count", "1", "orders:17", "page", "stock:9")
			seen := map[string]string{}
			for _, o := range objects(t, stdout) {
				if note := o["note"].(string); strings.HasPrefix(note, name+" deadlock: ") {
					seen[o["key"].(string)] = o["level"].(string)
				}
			}
			if len(seen) != 2 || seen["orders:17"] != tt.mark || seen["stock:9"] != tt.mark || status != 0 {
				t.Errorf("watch: exit status %d: %s", status, stdout)
			}

			check.Must[[]redislock.Holder](t)(w.client.Break(t.Context(), []string{"stock:9"}, "deadlock"))
			stdout, stderr, status = runTool(t, "doctor", "--redis", url, "--only", "deadlocks")
			if status != 0 || !strings.HasPrefix(stdout, "ok ") {
				t.Errorf("doctor after the break: exit status %d: %s%s", status, stdout, stderr)
			}
		})
	}
}

// What is at risk by a deadlock is not told if there is none: of a line that goes on nothing is read twice.
func TestNoDeadlock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	w := newWaiting(t, redis.NewClient(&redis.Options{Addr: server.Addr()}), "")
	w.hold(instance(3), "orders:17")
	w.hold(instance(4), "stock:9")
	w.queue(instance(4), "orders:17")
	_, stderr, status := runTool(t, "ls", "--redis", "redis://"+server.Addr())
	if status != 0 || stderr != "" {
		t.Errorf("exit status %d: %s", status, stderr)
	}
	stdout, _, status := runTool(t, "doctor", "--redis", "redis://"+server.Addr(), "--only", "deadlocks")
	if fields := strings.Fields(stdout); status != 0 || !slices.Equal(fields[:2], []string{"ok", "deadlocks"}) {
		t.Errorf("exit status %d: %s", status, stdout)
	}
}

// With --deadlocks there is no picture, and no edge.
func TestTreeOnlyDeadlocks(t *testing.T) {
	t.Parallel()
	w, tree := sharedWaiting(t)
	w.deadlock(request(31), request(40))
	w.hold(instance(5), "page")
	w.queue(instance(6), "page")
	got, status := tree("--ascii", "--deadlocks")
	wantLines(t, got, "3 keys held, 3 keys waited for, by 3 requests.\n\ncertain deadlock 1: ")
	if status != 1 || strings.Contains(got, "`- ") || strings.Contains(got, "page") {
		t.Errorf("status %d:\n%s", status, got)
	}
	got, status = tree("--json", "--deadlocks")
	if all := objects(t, got); status != 1 || len(all) != 1 || all[0]["type"] != "deadlock" {
		t.Errorf("status %d:\n%s", status, got)
	}
}
