//go:build unix

package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A place is where a test runs its commands: a server, a key, and a folder for what they write.
type place struct {
	t    *testing.T
	addr string
	rdb  *redis.Client
	key  string
	dir  string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	b := redistest.Shared(t, redistest.Redis)
	return placeAt(t, b.Addr(), b.Client(t))
}

// placeAt is for a server that the test does something to.
func placeAt(t *testing.T, addr string, rdb *redis.Client) *place {
	t.Helper()
	return &place{t: t, addr: addr, rdb: rdb, key: "run:" + t.Name() + ":" + rand.Text(), dir: t.TempDir()}
}

// run prepares redislock run with these arguments; $D is the folder.
func (p *place) run(args ...string) *process {
	p.t.Helper()
	c := newProcess(p.t, append([]string{"run", "--redis", "redis://" + p.addr}, args...)...)
	c.Env = append(c.Env, "D="+p.dir)
	return c
}

// shell prepares redislock run of a shell script under the key.
func (p *place) shell(script string, flags ...string) *process {
	p.t.Helper()
	return p.run(append(flags, p.key, "--", "sh", "-c", script)...)
}

// written waits until a file in the folder has a whole line, and returns what it has.
func (p *place) written(name string) string {
	p.t.Helper()
	var text string
	check.Eventually(p.t, soon, "something in "+name, func() bool {
		text = p.text(name)
		return strings.Contains(text, "\n")
	})
	return strings.TrimSpace(text)
}

func (p *place) text(name string) string {
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return ""
	}
	return string(b)
}

// pid is that in a file.
func (p *place) pid(name string) int {
	p.t.Helper()
	return check.Must[int](p.t)(strconv.Atoi(p.written(name)))
}

// wantFree waits until nobody holds the key or stands in line for it.
func (p *place) wantFree() {
	p.t.Helper()
	check.Eventually(p.t, soon, "that the key is free", func() bool { return len(p.state().Holders)+len(p.state().Line) == 0 })
}

func (p *place) state() redislock.KeyState {
	p.t.Helper()
	return check.Must[[]redislock.KeyState](p.t)(redislock.New(p.rdb).Inspect(p.t.Context(), []string{p.key}))[0]
}

// wantGone waits until a process has ended.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	check.Eventually(t, soon, fmt.Sprintf("that process %d has ended", pid), func() bool { return !isAlive(pid) })
}

func isAlive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil { // one that has ended may not have been waited for, by an init that has much to do
		_, rest, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(rest, "Z")
	}
	return syscall.Kill(pid, 0) == nil && !os.IsNotExist(err)
}
