package install_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A version of a module, and what it has.
type version struct {
	module string // its path
	dir    string // its folder in files
	name   string
	files  tree
}

// versions returns what the modules for users are offered as. The checkout is the version after the last one that is
// tagged, or v0.1.0; or a greater version of it that another module of the repo requires. A version that one requires and
// that is tagged has the files of that tag: what a nested module uses must be in the version that its go.mod requires, and
// not only in the checkout. If the tag has the files of the checkout, the checkout is that version, and no later one.
func versions(ctx context.Context, dir string, all []module, files tree) (offered []version, err error) {
	list, err := git(ctx, dir, "tag", "--list")
	if err != nil {
		list = "" // no repo
	}
	tags := strings.Fields(list)
	for _, m := range all {
		if !m.forUsers() {
			continue
		}
		prefix := strings.TrimPrefix(m.dir+"/", "./")
		now, same := version{m.Module.Path, m.dir, next(tags, prefix), files}, ""
		for _, required := range requiredOf(m, all) {
			if !slices.Contains(tags, prefix+required) {
				now.name, same = slices.MaxFunc([]string{now.name, required}, compareVersions), ""
				continue
			}
			released := version{m.Module.Path, m.dir, required, nil}
			if released.files, err = treeAt(ctx, dir, prefix+required); err != nil {
				return nil, err
			}
			if maps.EqualFunc(released.content(), now.content(), bytes.Equal) {
				same = required
			}
			offered = append(offered, released)
		}
		if same == "" {
			offered = append(offered, now)
		}
	}
	return offered, nil
}

// requiredOf are the versions of a module that other modules for users require, the least first.
func requiredOf(m module, all []module) (required []string) {
	for _, other := range all {
		if version, ok := other.requires(m); ok && other.forUsers() {
			required = append(required, version)
		}
	}
	slices.SortFunc(required, compareVersions)
	return slices.Compact(required)
}

// otherRoots says which modules need the root of the same commit and require another version of it.
func otherRoots(all []module, root version) (found []string) {
	for _, m := range all {
		if required, ok := m.requires(all[0]); ok && m.isJoined() && required != root.name {
			found = append(found, fmt.Sprintf("%s/go.mod: it requires %s %s: the root of the same commit is %s", m.dir, root.module, required, root.name))
		}
	}
	return found
}

// next returns the version after the last that is tagged.
func next(tags []string, prefix string) string {
	last := []int{0, 1, -1}
	for _, tag := range tags {
		if name, ok := strings.CutPrefix(tag, prefix); ok && release.MatchString(name) {
			last = slices.MaxFunc([][]int{last, numbers(name)}, slices.Compare)
		}
	}
	return fmt.Sprintf("v%d.%d.%d", last[0], last[1], last[2]+1)
}

func compareVersions(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

// numbers are the numbers in a version, or in the Go version of a go.mod.
func numbers(text string) (all []int) {
	for _, digits := range regexp.MustCompile(`[0-9]+`).FindAllString(text, -1) {
		if n, err := strconv.Atoi(digits); err == nil {
			all = append(all, n)
		}
	}
	return all
}
