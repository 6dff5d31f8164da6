package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// What was found before the server has gone, or before Ctrl-C, is listed.
func TestLsInterrupted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end    func(*process, *redistest.Server)
		status int
		err    string
	}{
		"server": {func(_ *process, s *redistest.Server) { s.Kill() }, 69, "cannot use "},
		"ctrl-c": {func(p *process, _ *redistest.Server) { _ = p.Process.Signal(syscall.SIGINT) }, 130, "redislock ls: interrupted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Redis)
			rdb := server.Client(t)
			pipe := rdb.Pipeline()
			for i := range 3000 {
				pipe.Set(t.Context(), fmt.Sprint("k", i), owners.NewToken(), time.Hour)
			}
			check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
			relay := redistest.NewRelay(t, server.Addr())
			scans, hold := 0, make(chan context.Context)
			relay.OnRequest(func(command string, _ []string) {
				if strings.EqualFold(command, "scan") {
					if scans++; scans == 5 {
						relay.HoldRequests()
						close(hold)
					}
				}
			})
			p := newProcess(t, "ls", "--redis", "redis://"+relay.Addr()+"?read_timeout=20s&max_retries=1").start(t)
			select {
			case <-hold:
			case <-time.After(time.Minute):
				t.Fatalf("no fifth SCAN: %s", &p.stderr)
			}
			tt.end(p, server)
			relay.ReleaseRequests()
			if status := p.status(t); status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			if n := strings.Count(p.stdout.String(), "\n"); n < 400 || n >= 3000 {
				t.Errorf("%d lines", n)
			}
			for _, want := range []string{"the list is not complete: ", tt.err} {
				if !strings.Contains(p.stderr.String(), want) {
					t.Errorf("no %q in %q", want, p.stderr.String())
				}
			}
		})
	}
}
