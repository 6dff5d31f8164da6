package main

import (
	"context"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-14de3678/redislock/proof/plant"
)

// A lines has the lines of files that were changed, by path in the tree; nil: all of the file.
type lines map[string]map[int]bool

func (l lines) has(m *defect) bool {
	some, is := l[m.file]
	return is && (some == nil || some[m.line])
}

// base is the commit that a work tree is compared with: where its branch begins. If it has no commit of its own, and nothing is
// changed, that is the commit before the last.
func (t *tree) base(ctx context.Context, branch string) (string, error) {
	head, err := plant.Git(ctx, t.root, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	base, err := plant.Git(ctx, t.root, "merge-base", branch, "HEAD")
	if err != nil {
		return "", err
	}
	dirty, err := plant.Git(ctx, t.root, "status", "--porcelain")
	if err == nil && base == head && dirty == "" {
		return plant.Git(ctx, t.root, "rev-parse", "--verify", "--quiet", "HEAD~1")
	}
	return base, err
}

var (
	diffFile = regexp.MustCompile(`^\+\+\+ b/(.*)$`)
	diffHunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)
)

// changed returns the lines that are not as they were in a commit, with those of files that git does not know yet.
func (t *tree) changed(ctx context.Context, branch string) (lines, error) {
	base, err := t.base(ctx, branch)
	if err != nil {
		return nil, err
	}
	diff, err := plant.Git(ctx, t.root, "diff", "-U0", "--no-color", "--no-ext-diff", "--relative", "--src-prefix=a/", "--dst-prefix=b/", base)
	if err != nil {
		return nil, err
	}
	all := linesOf(diff)
	others, err := plant.Git(ctx, t.root, "ls-files", "--others", "--exclude-standard")
	for path := range strings.Lines(others) {
		all[filepath.ToSlash(strings.TrimSpace(path))] = nil
	}
	return all, err
}

// linesOf reads what git has written.
func linesOf(diff string) lines {
	all, file := lines{}, ""
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\n")
		if m := diffFile.FindStringSubmatch(line); m != nil {
			file = m[1]
			all[file] = map[int]bool{}
		}
		m := diffHunk.FindStringSubmatch(line)
		if m == nil || all[file] == nil {
			continue
		}
		first, _ := strconv.Atoi(m[1]) // digits, as the pattern says
		count := 1
		if m[2] != "" {
			count, _ = strconv.Atoi(m[2])
		}
		for i := range count {
			all[file][first+i] = true
		}
	}
	return all
}
