package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/seed-14de3678/redislock/proof/plant"
)

// modules are those that get a tag, in this order: a module proxy that is asked for a version too early remembers that it is
// not there.
var modules = []string{"", "cmd/redislock", "redislockotel", "redislockgocron"}

// tags checks that the commit says of itself that it is the version, and writes down what to type.
func tags(ctx context.Context, root, version string, log io.Writer) (string, error) {
	var bad error
	changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	if !regexp.MustCompile(`(?m)^## \[` + regexp.QuoteMeta(version[1:]) + `\] - \d{4}-\d\d-\d\d$`).Match(changes) {
		bad = errors.Join(bad, fmt.Errorf("CHANGELOG.md has no heading with a day for %s", version))
	}
	for _, module := range modules[1:] {
		text, err := os.ReadFile(filepath.Join(root, module, "go.mod"))
		if err != nil {
			return "", err
		}
		if !regexp.MustCompile(`(?m)^(?:require|\t).*/redislock ` + regexp.QuoteMeta(version) + `$`).Match(text) {
			bad = errors.Join(bad, fmt.Errorf("%s/go.mod does not require %s of the root", module, version))
		}
	}
	var names []string
	for _, module := range modules {
		name := strings.TrimPrefix(module+"/"+version, "/")
		if have, err := plant.Git(ctx, root, "tag", "--list", name); err != nil || have != "" {
			bad = errors.Join(bad, err, fmt.Errorf("there is a tag %s already", name))
		}
		names = append(names, name)
		_, _ = fmt.Fprintf(log, "git tag -a %s -m 'redislock %s' && git push origin %s\n", name, name, name)
	}
	return strings.Join(names, ", "), bad
}
