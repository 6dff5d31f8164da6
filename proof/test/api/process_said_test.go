package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func init() {
	// named prints what is said of a process whose program has this name.
	redistest.RegisterRole("named", func(args []string) {
		os.Args[0] = args[0]
		fmt.Println(redislock.InstanceMetadata())
	})
}

// InstanceMetadata names the host, the process, the program and since when it runs.
func TestInstanceMetadata(t *testing.T) {
	t.Parallel()
	host := check.Must[string](t)(os.Hostname())
	since := clock.ProcessStart.UTC().Format("2006-01-02T15:04:05Z")
	want := fmt.Sprintf("host=%s pid=%d prog=%s since=%s", host, os.Getpid(), filepath.Base(os.Args[0]), since)
	if got := redislock.InstanceMetadata(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, prog := range map[string]string{
		"/bin/shop": "shop", "my shop": `"my shop"`, "a=b": `"a=b"`, "a|b": `"a|b"`, `a"b`: `"a\"b"`, "a\tb": `"a\tb"`, "a\nb": `"a\nb"`,
		"a\x1bb": `"a\x1bb"`, "a\xffb": `"a\xffb"`, "\u00e9": "\u00e9", "a\u200bb": `"a\u200bb"`,
	} {
		got := check.Must[string](t)(redistest.StartRole(t, "named", name).ReadLine(time.Minute))
		_, behind, _ := strings.Cut(got, " prog=")
		if said, _, is := strings.Cut(behind, " since="); !is || said != prog || !strings.HasPrefix(got, "host="+host+" pid=") {
			t.Errorf("%q: got %s, want the program %s", name, got, prog)
		}
	}
}

// A Client says with which of its options others have to agree.
func TestClientSaysItsOptions(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartMini(t).Client(t)
	client := world.NewClient(t, rdb, redislock.WithReplicas(2), redislock.WithMinUptime(time.Minute))
	if client.Replicas() != 2 || client.MinUptime() != time.Minute {
		t.Errorf("got %d replicas and an uptime of %v", client.Replicas(), client.MinUptime())
	}
	if plain := world.NewClient(t, rdb); plain.Replicas() != 0 || plain.MinUptime() != 0 {
		t.Errorf("got %d replicas and an uptime of %v without the options", plain.Replicas(), plain.MinUptime())
	}
}

// A strategy that is limited to no further attempts is not asked.
func TestNoFurtherAttempts(t *testing.T) {
	t.Parallel()
	asked := 0
	strategy := func() redislock.BackOff { asked++; return redislock.NoRetry()() }
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 1} {
		asked = 0
		b := redislock.LimitRetry(strategy, n)()
		if asked != want || b == nil || b.NextBackOff() >= 0 {
			t.Errorf("limited to %d: got a strategy that was asked %d times, want %d", n, asked, want)
		}
	}
}
