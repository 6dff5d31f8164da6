package install_test

import (
	"context"
	"fmt"
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
// not only in the checkout.
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
		next := next(tags, prefix)
		for _, other := range all {
			required, ok := other.requires(m)
			if !ok || !other.forUsers() {
				continue
			}
			if !slices.Contains(tags, prefix+required) {
				next = slices.MaxFunc([]string{next, required}, compareVersions)
				continue
			}
			released, err := treeAt(ctx, dir, prefix+required)
			if err != nil {
				return nil, err
			}
			offered = append(offered, version{m.Module.Path, m.dir, required, released})
		}
		offered = append(offered, version{m.Module.Path, m.dir, next, files})
	}
	return offered, nil
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
