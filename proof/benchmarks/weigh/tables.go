package main

import (
	"fmt"
	"slices"
	"strings"
)

// table says how large the program is, and by how much those with locks are larger.
func table(dir string) (string, error) {
	var text strings.Builder
	text.WriteString("| a program for Linux on amd64 | with `-s -w` | without |\n|---|---|---|\n")
	flags := []string{"-s -w", ""}
	alone := make([]int, len(flags))
	for _, program := range []struct{ name, does string }{
		{"small", "that has a `*redis.Client`: Set, Get, a script"},
		{"smallbsm", "the same with bsm/redislock"},
		{"smallredislock", "the same with this library"},
	} {
		text.WriteString("| " + program.does)
		for i, with := range flags {
			b, err := build(dir, program.name, with)
			if err != nil {
				return "", err
			}
			if alone[i] == 0 {
				alone[i] = b.size
				text.WriteString(" | " + kib(b.size))
			} else {
				text.WriteString(" | + " + kib(b.size-alone[i]))
			}
		}
		text.WriteString(" |\n")
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
	name     string
	files    []string // of the root package
	packages []string
}

// parts has first the part that takes what no other one names.
var parts = []part{
	{name: "Obtain, With"},
	{
		name:     "the way to Redis",
		packages: []string{"wire", "slot", "proto"},
	},
	{
		name:  "release, clean-up, guards",
		files: []string{"release.go", "cleanup.go"}, packages: []string{"owners"},
	},
	{
		name:  "the line",
		files: []string{"line.go"}, packages: []string{"listen", "rounds"},
	},
	{
		name:  "the lease",
		files: []string{"watch.go", "lease.go", "break.go"}, packages: []string{"lease", "clock", "circle"},
	},
	{
		name:  "errors, hooks, metrics",
		files: []string{"errors.go", "hooks.go"}, packages: []string{"count", "serial"},
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
	row := func(name string, size int) { fmt.Fprintf(&text, "| %s | %s |\n", name, kib(size)) }
	text.WriteString("| what | size |\n|---|---|\n")
	for i, p := range parts {
		row(p.name, whole(ours[i]))
	}
	row("the scripts, with comments", lua)
	row("go-redis: subscriptions, pipelines", whole(redis))
	row("the standard library: regular expressions, `log/slog`, sorting", whole(standard))
	row("types, texts, stack maps", more.size-more.tables-code-lua)
	row("together", more.size)
	return text.String()
}

func kib(size int) string {
	s := fmt.Sprint((size + 512) / 1024)
	if len(s) > 3 {
		s = s[:len(s)-3] + " " + s[len(s)-3:]
	}
	return s + " KiB"
}
