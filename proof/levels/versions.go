package main

import (
	"context"

	"github.com/seed-14de3678/redislock/proof/earlier"
)

// A version is one that is measured.
type version struct {
	name    string
	commit  string // empty: the tree as it is
	overlay string // file for go build -overlay, with which tests plant a slow-down
}

// The versions that the tree is compared with. A figure of the tree that is more than 10 % above that of before fails.
// After a release before is the commit of its tag.
var (
	tree   = version{name: "tree"}
	before = version{name: "before", commit: "e41a22b0a6101a5378ceac73df16b5f1fc3c070f"}
	// old is the one before late requests were closed by guards.
	old = version{name: "old", commit: "13447e3702d0dcb8d86817785511eea7155982f3"}
)

// build makes the worker of a version in dir, and returns its path.
func (v version) build(ctx context.Context, root, dir string) (string, error) {
	var flags []string
	if v.overlay != "" {
		flags = []string{"-overlay", v.overlay}
	}
	return earlier.Build(ctx, root, dir, v.name, v.commit, "levels/worker", flags...)
}
