//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// A runOutcome is what run --json says.
type runOutcome struct {
	Keys []struct {
		Key string `json:"key"`
	} `json:"keys"`
	Fence  int64  `json:"fence"`
	Waited int64  `json:"waited_ms"`
	Held   int64  `json:"held_ms"`
	Ran    bool   `json:"ran"`
	Signal int    `json:"signal"`
	Status int    `json:"status"`
	Error  string `json:"error"`
}

// outcome reads the last line of stderr.
func (p *process) outcome(t *testing.T) (o runOutcome) {
	t.Helper()
	text := strings.TrimSuffix(p.stderr.String(), "\n")
	check.NoError(t, json.Unmarshal([]byte(text[strings.LastIndexByte(text, '\n')+1:]), &o))
	return o
}

// With --json the last line of stderr is an object with the outcome, and stdout is that of the command.
func TestRunJSON(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]runOutcome{
		"echo out; echo err >&2":         {Ran: true},
		"echo out; sleep 0.1; exit 3":    {Ran: true, Status: 3},
		"echo out; kill -9 $$; sleep 60": {Ran: true, Signal: 9, Status: 137},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c := p.shell(script, "--json").start(t)
			c.want(t, want.Status)
			if c.stdout.String() != "out\n" {
				t.Errorf("stdout is %q", &c.stdout)
			}
			got := c.outcome(t)
			if len(got.Keys) != 1 || got.Keys[0].Key != p.key || got.Fence < 1 || got.Waited < 0 || got.Held < 0 {
				t.Errorf("got %+v", got)
			}
			got.Keys, got.Fence, got.Waited, got.Held = nil, 0, 0, 0
			if got.Ran != want.Ran || got.Signal != want.Signal || got.Status != want.Status || got.Error != "" {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// What has kept the command from running, or has ended it, is in the object, and said nowhere else but when it happens.
func TestRunJSONError(t *testing.T) {
	t.Parallel()
	p := newOwnPlace(t)
	first := p.shell("echo >$D/in; exec sleep 600", "--json", "--ttl", "10m").start(t)
	p.written("in")
	for _, tt := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"--no-wait", p.key, "--", "true"}, 75, "not obtained: "},
		{[]string{"free", "--", "no-such-command"}, 127, "no-such-command: not found"},
		{[]string{"--redis", "redis://127.0.0.1:1", "free", "--", "true"}, 69, "cannot use 127.0.0.1:1"},
	} {
		c := p.run(append([]string{"--json"}, tt.args...)...).start(t)
		c.want(t, tt.status)
		if got := c.outcome(t); got.Ran || got.Status != tt.status || !strings.HasPrefix(got.Error, tt.says) {
			t.Errorf("%q: got %+v", tt.args, got)
		}
		if n := strings.Count(c.stderr.String(), "\n"); n != 1 {
			t.Errorf("%q: %d lines, want 1: %s", tt.args, n, &c.stderr)
		}
	}
	p.breakLock("it hangs")
	first.want(t, 79)
	if got := first.outcome(t); !got.Ran || got.Status != 79 || !strings.Contains(got.Error, "it hangs") {
		t.Errorf("got %+v", got)
	}
	wrong := p.run("--json", p.key).start(t)
	wrong.want(t, 2, "-- is missing between the keys and the command")
}
