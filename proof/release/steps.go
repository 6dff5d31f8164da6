package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// A step is one line of the list. Either a command, whose output has the figure, or a function that returns it.
type step struct {
	name, shows string
	command     string // for bash, at the root
	figure      string // a regular expression: the figure is its groups, in the last place where it matches
	do          func(ctx context.Context, root string, log io.Writer) (figure string, err error)
}

const (
	tests    = `(\d+ passed), (0 failed), (\d+ skipped)`
	parts    = 4 // of the planted defects
	checkout = `d=$(mktemp -d) && trap 'rm -rf "$d"' EXIT && git clone -q . "$d" && cd "$d" && `
)

// steps is the list for a version, with campaigns that are so long.
func steps(version string, long time.Duration) []step {
	list := []step{{name: "gate", shows: "all checks and tests, on a clean checkout", command: checkout + "bash .ci/run", figure: tests}}
	for i := range parts {
		list = append(list, step{
			name: fmt.Sprintf("planted defects %d/%d", i+1, parts), shows: "a test fails for each defect that is planted",
			command: fmt.Sprintf("make defects PART=%d/%d", i+1, parts), figure: `(\d+ caught)`,
		})
	}
	list = append(list, step{
		name: "matrix", shows: "late requests, before and after all that may follow",
		command: "make matrix", figure: `(\d+ cells) in \S+, (0 fail)`,
	})
	for _, topology := range []string{"single", "replicas", "sentinel", "cluster", "ring", "quorum3", "quorum5"} {
		list = append(list, step{
			name: "campaign on " + topology, shows: "processes under faults keep the promises",
			command: fmt.Sprintf("make torture FOR=%s TOPOLOGY=%s", long, topology),
			figure:  `(?m)^ +` + topology + ` +(?P<rounds>\d+) +(?P<operations>\d+(?: \d+)*) {2,}(?P<faults>\d+(?: \d+)*) {2,}(?P<findings>0)$`,
		})
	}
	list = append(
		list,
		step{name: "soak", shows: "nothing grows", command: fmt.Sprintf("make soak FOR=%s", long), figure: `(?m)^(ok)\s+\S+/soak\b`},
		step{name: "least go-redis", shows: "the quick suite, with the go-redis of go.mod", command: "make test", figure: tests},
		step{name: "newest go-redis", shows: "the same, with the newest one", command: "make test-client GO_REDIS=latest", figure: tests},
		step{name: "newest servers", shows: "the lock's tests, on the newest Redis and Valkey", command: "make test-newest", figure: tests},
		step{name: "builds", shows: "the library and the tool, for each system", command: builds, figure: `(\d+ systems)`},
		step{
			name: "size", shows: "what users download", command: "go test -count=1 -v -run '^TestDownload$' ./proof/test/install",
			figure: `downloads: (.+)`,
		},
		step{
			name: "install", shows: "go get and go install, from a module proxy of the checkout",
			command: "go test -count=1 -v -run '^TestInstall$' ./proof/test/install", figure: `(?m)^(ok)\s`,
		},
		step{name: "pages", shows: "the documentation of each package, as pkgsite shows it", do: pages},
		step{name: "tags", shows: "what is left to type", do: func(ctx context.Context, root string, log io.Writer) (string, error) {
			return tags(ctx, root, version, log)
		}},
	)
	return list
}

// builds makes everything for each system, and says for how many.
const builds = `n=0
for target in {linux,darwin,windows}/{amd64,arm64}; do
	echo "$target"
	export GOOS=${target%/*} GOARCH=${target#*/}
	CGO_ENABLED=0 go build ./... ./cmd/redislock/... ./redislockotel/... ./redislockgocron/... || exit 1
	n=$((n + 1))
done
unset GOOS GOARCH
make dist && echo "$n systems"`

// how is what the step runs, in one line.
func (s step) how() string {
	if s.do != nil {
		return "a part of this program"
	}
	return strings.Join(strings.Fields(s.command), " ")
}

// run runs the step. A command that succeeds without a figure has not shown anything, so it has failed.
func (s step) run(ctx context.Context, root string, log io.Writer) (string, error) {
	if s.do != nil {
		return s.do(ctx, root, log)
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, "bash", "-c", s.command)
	// Ctrl-C reaches all that the command has started, too. Bash waits until that has ended its servers.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	both := io.MultiWriter(log, &said)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, both, both
	if err := cmd.Run(); err != nil {
		return "", err
	}
	figure, ok := lastFigure(s.figure, said.String())
	if !ok {
		return "", errors.New("it succeeded, but has printed no figure")
	}
	return figure, nil
}

// lastFigure joins the groups of a regular expression, with their names, in the last place where it matches.
func lastFigure(pattern, text string) (string, bool) {
	re := regexp.MustCompile(pattern)
	all := re.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return "", false
	}
	var parts []string
	for i, group := range all[len(all)-1][1:] {
		parts = append(parts, strings.TrimSpace(group+" "+re.SubexpNames()[i+1]))
	}
	return strings.Join(parts, ", "), true
}
