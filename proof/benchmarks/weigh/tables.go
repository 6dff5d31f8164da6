package main

import (
	"fmt"
	"slices"
	"strings"
)

// targets are what the programs are built for.
var targets = []struct{ arch, flags string }{{"amd64", "-s -w"}, {"arm64", "-s -w"}, {"amd64", ""}}

// table says how large the programs are, and by how much those with locks are larger than the same without.
func table(dir string) (string, error) {
	var text strings.Builder
	text.WriteString("| a program for Linux | amd64, `-s -w` | arm64, `-s -w` | amd64 |\n|---|---|---|---|\n")
	for _, base := range []struct{ program, does string }{
		{"small", "that has a `*redis.Client`: Set, Get, a script"},
		{"large", "that has a `redis.UniversalClient`, pipelines, a subscription, `log/slog`"},
	} {
		sizes := make([]int, len(targets))
		for _, locks := range []struct{ suffix, name string }{
			{"", base.does}, {"bsm", "the same with bsm/redislock"}, {"redislock", "the same with this library"},
		} {
			text.WriteString("| " + locks.name)
			for i, on := range targets {
				b, err := build(dir, base.program+locks.suffix, on.arch, on.flags)
				if err != nil {
					return "", err
				}
				if locks.suffix == "" {
					sizes[i] = b.size
					text.WriteString(" | " + kib(b.size))
				} else {
					text.WriteString(" | + " + kib(b.size-sizes[i]))
				}
			}
			text.WriteString(" |\n")
		}
	}
	return text.String(), nil
}

// growth is what one program has more than another.
func growth(without, with *binary) *binary {
	more := &binary{size: with.size - without.size, tables: with.tables - without.tables, code: make(map[function]int)}
	for f, size := range with.code {
		if size > without.code[f] {
			more.code[f] = size - without.code[f]
		}
	}
	return more
}

// A part is some of what comes with the library.
type part struct {
	name, buys string
	files      []string // of the root package
	packages   []string
}

// parts has first the part that takes what no other one names.
var parts = []part{
	{name: "Obtain, With", buys: "sets of keys, all or nothing; read locks; polling; metadata, prefix, owner"},
	{
		name: "the way to Redis", buys: "one place that builds calls and reads replies; calls travel together; sent again if that is safe; bounded; replicas; Cluster, Ring, wrapped clients",
		packages: []string{"wire", "slot", "proto"},
	},
	{
		name: "release", buys: "nothing stays locked, and no late request does harm: clean-up, guards, tokens; Leave",
		files: []string{"release.go", "cleanup.go"}, packages: []string{"owners"},
	},
	{
		name: "the line", buys: "`Options.Queue`: first come, first served, told by a message",
		files: []string{"line.go", "round.go"}, packages: []string{"listen"},
	},
	{
		name: "the lease", buys: "watchdog, Refresh, a context that ends with the lock, losses told in time",
		files: []string{"watch.go", "lease.go", "break.go"}, packages: []string{"lease", "clock", "circle"},
	},
	{
		name: "errors, hooks", buys: "errors that say who holds what and what is known; metrics",
		files: []string{"errors.go", "hooks.go", "events.go"}, packages: []string{"count", "serial"},
	},
}

// partOf returns the index of the part that a function of this module belongs to.
func partOf(f function) int {
	return max(0, slices.IndexFunc(parts, func(p part) bool {
		return slices.Contains(p.files, f.file) && f.pkg == module || slices.Contains(p.packages, strings.TrimPrefix(f.pkg, module+"/internal/"))
	}))
}

// byPart says what a growth consists of. Each function is counted with its share of the tables.
func byPart(more *binary, lua int) string {
	ours, code := make([]int, len(parts)), 0
	redis, standard := 0, 0
	for f, size := range more.code {
		code += size
		switch {
		case strings.HasPrefix(f.pkg, module):
			ours[partOf(f)] += size
		case strings.HasPrefix(f.pkg, "github.com/redis/"):
			redis += size
		default:
			standard += size
		}
	}
	whole := func(size int) int { return int(float64(size) * float64(code+more.tables) / float64(code)) }
	var text strings.Builder
	row := func(name string, size int, buys string) {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", name, kib(size), buys)
	}
	text.WriteString("| what | size | what it buys |\n|---|---|---|\n")
	for i, p := range parts {
		row(p.name, whole(ours[i]), p.buys)
	}
	row("the scripts", lua, "the Lua of all operations, with its comments")
	row("go-redis", whole(redis), "subscriptions, for the line and for notices; pipelines")
	row("the standard library", whole(standard), "regular expressions that make errors of servers legible; `log/slog`, for `WithLogger`; sorting")
	row("types, texts, stack maps", more.size-more.tables-code-lua, "what goes with all of that; texts of errors")
	row("together", more.size, "")
	return text.String()
}

func kib(size int) string {
	s := fmt.Sprint((size + 512) / 1024)
	if len(s) > 3 {
		s = s[:len(s)-3] + " " + s[len(s)-3:]
	}
	return s + " KiB"
}
