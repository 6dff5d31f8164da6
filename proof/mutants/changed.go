package main

import (
	"context"
	"fmt"
	"os/exec"
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

// git runs git in the tree.
func (t *tree) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = t.root
	plant.InGroup(cmd)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// base is the commit that a work tree is compared with: where its branch begins. If it has no commit of its own, and nothing is
// changed, that is the commit before the last.
func (t *tree) base(ctx context.Context, branch string) (string, error) {
	head, err := t.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	base, err := t.git(ctx, "merge-base", branch, "HEAD")
	if err != nil {
		return "", err
	}
	dirty, err := t.git(ctx, "status", "--porcelain")
	if err == nil && base == head && dirty == "" {
		return t.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD~1")
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
	diff, err := t.git(ctx, "diff", "-U0", "--no-color", "--no-ext-diff", "--relative", "--src-prefix=a/", "--dst-prefix=b/", base)
	if err != nil {
		return nil, err
	}
	all := linesOf(diff)
	others, err := t.git(ctx, "ls-files", "--others", "--exclude-standard")
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
