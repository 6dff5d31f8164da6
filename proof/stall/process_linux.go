package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A process is what the kernel says of one.
type process struct {
	pid, parent int
	program     string // empty if it may not be stopped
	stopped     bool
	again       bool // somebody has stopped it while it was stopped
}

// servers are the programs that may be stopped, besides test binaries.
var servers = []string{"redis-server", "valkey-server", "redis-sentinel", "valkey-sentinel"}

// below returns a process and all that descend from it, in the order of their numbers.
func below(root int) (found []process) {
	entries, _ := os.ReadDir("/proc") // without it there is nothing to stop
	all := map[int]process{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := look(pid); ok {
				all[pid] = p
			}
		}
	}
	for _, p := range all {
		if descends(all, p, root) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b process) int { return a.pid - b.pid })
	return found
}

// descends reports whether a process is root, or below it. A number that has become another process's meanwhile may make a circle.
func descends(all map[int]process, p process, root int) bool {
	for range len(all) {
		if p.pid == root {
			return true
		}
		p = all[p.parent]
	}
	return false
}

// look reads what there is of a process that has not ended.
func look(pid int) (p process, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return p, false
	}
	p.pid = pid
	name := ""
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "Name":
			name = value
		case "PPid":
			p.parent, _ = strconv.Atoi(value)
		case "State":
			p.stopped = strings.HasPrefix(value, "T")
			if strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X") {
				return p, false
			}
		case "ShdPnd":
			const sigstop = 1 << (19 - 1)
			pending, _ := strconv.ParseUint(value, 16, 64)
			p.again = pending&sigstop != 0
		}
	}
	arguments, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	p.program = programOf(name, strings.Split(string(arguments), "\x00"))
	return p, true
}

// programOf returns what a process runs if that may be stopped. A test binary has a long name, of which the kernel's own has
// the first 15 characters; a server writes over its arguments; one of another system is run by a loader, whose name it has.
func programOf(name string, arguments []string) string {
	if slices.Contains(servers, name) {
		return name
	}
	if base := filepath.Base(arguments[0]); strings.HasSuffix(base, ".test") {
		return base
	}
	if strings.HasPrefix(name, "ld-") {
		for _, a := range arguments {
			title, _, _ := strings.Cut(a, " ")
			if base := filepath.Base(title); slices.Contains(servers, base) {
				return base
			}
		}
	}
	return ""
}
