// Release runs the list that a version has to pass, and writes the figures into docs/proof.md.
//
//	make release-list                       # all of it, which is a night; VERSION=v0.1.0 says for which version
//	make release-list ONLY='^campaign' FOR=5m
//	make release-list LIST=1                # only say which steps there are
//
// What a step prints is in .bin/release, in a folder that is called like the commit. A step that has passed on this commit
// is not run again, so the list can be interrupted, and goes on where it was. Only what is committed counts: a checkout that
// differs from its commit is refused. Nothing is tagged: the last step says what to type.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/internal/page"
	"github.com/seed-14de3678/redislock/proof/plant"
)

// A list is one run.
type list struct {
	root    string // of the checkout
	kept    string // the folder of the results
	commit  string
	version string
	page    string // that has the table
	steps   []step
	out     io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run does what the command line says.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "the `version` that is to be released, as v0.1.0")
	only := flags.String("only", "", "run the steps whose names match this `regexp`")
	long := flags.Duration("for", 30*time.Minute, "how long each campaign and the soak take")
	show := flags.Bool("list", false, "only say which steps there are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(*version) {
		return fmt.Errorf("-version: %q is not one such as v0.1.0", *version)
	}
	commit, err := plant.Git(ctx, ".", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return err
	}
	l := list{
		root: ".", commit: commit, version: *version, kept: filepath.Join(".bin", "release", commit),
		page: filepath.Join("docs", "proof.md"), steps: steps(*version, *long), out: out,
	}
	if *show {
		for _, s := range l.steps {
			l.sayf("%-24s %s: %s\n", s.name, s.shows, s.how())
		}
		return nil
	}
	return l.run(ctx, wanted)
}

func (l list) sayf(format string, args ...any) { _, _ = fmt.Fprintf(l.out, format, args...) }

// run runs the wanted steps that have not passed yet, all of them although some fail, and writes the table.
func (l list) run(ctx context.Context, wanted *regexp.Regexp) error {
	if changed, err := plant.Git(ctx, l.root, "status", "--porcelain", "--", ".", ":!"+l.page); err != nil || changed != "" {
		return errors.Join(err, fmt.Errorf("the checkout is not as its commit: %s", changed))
	}
	if err := os.MkdirAll(l.kept, 0o755); err != nil {
		return err
	}
	var failed []string
	for _, s := range l.steps {
		if !wanted.MatchString(s.name) || ctx.Err() != nil {
			continue
		}
		r, err := l.once(ctx, s)
		if err != nil {
			failed = append(failed, s.name)
			l.sayf("%-24s failed: %v\n", s.name, err)
			continue
		}
		l.sayf("%-24s %s\n", s.name, r.Figure)
	}
	if err := page.Rewrite(filepath.Join(l.root, l.page), []page.Part{{Name: "list", Text: l.table()}}); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s; what they printed is in %s", strings.Join(failed, ", "), l.kept)
	}
	return ctx.Err()
}
