package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Processes beside the command are none of its own.
func TestBelow(t *testing.T) {
	t.Parallel()
	one, other := startClock(t), startClock(t)
	has := func(root, pid int) bool {
		for _, p := range below(root) {
			if p.pid == pid {
				return p.program == filepath.Base(program(t)) && p.parent == os.Getpid()
			}
		}
		return false
	}
	if !has(one.pid, one.pid) || !has(os.Getpid(), one.pid) || !has(os.Getpid(), other.pid) || has(one.pid, other.pid) {
		t.Errorf("below %d: %+v, below %d: %+v", one.pid, below(one.pid), os.Getpid(), below(os.Getpid()))
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, arguments, want string }{
		{"line.test", "/tmp/go-build1/b001/line.test|-test.v", "line.test"},
		{"redislockotel.t", "/tmp/go-build1/b001/redislockotel.test", "redislockotel.test"},
		{"redis-server", "redis-server 127.0.0.1:6379||", "redis-server"},
		{"redis-sentinel", "redis-sentinel 127.0.0.1:6379||", "redis-sentinel"},
		{"ld-linux-x86-64", "/lib/ld-linux-x86-64.so.2|--library-path|/lib|/opt/usr/bin/valkey-server|--port|0", "valkey-server"},
		{"ld-linux-x86-64", "/opt/usr/bin/valkey-server 127.0.0.1:6379||", "valkey-server"},
		{"go", "go|test|./redis-server", ""},
		{"sh", "sh|-c|redis-server", ""},
		{"kworker", "", ""},
		{"vi", "vi|line.test", ""},
	} {
		if got := programOf(test.name, strings.Split(test.arguments, "|")); got != test.want {
			t.Errorf("%+v: got %q", test, got)
		}
	}
}
