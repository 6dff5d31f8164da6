package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/mutants/mutant"
)

// A verdict says what has become of a mutant.
type verdict string

const (
	undecided  verdict = "left"
	caught     verdict = "caught"
	survived   verdict = "survived"
	equivalent verdict = "equivalent"
	uncovered  verdict = "not covered"
	notMade    verdict = "not made"
)

var errNotLua = errors.New("it does not compile")

// plant returns the environment of a process in which mutants are, whose files are named after the first one.
func (l *library) plant(ctx context.Context, some []*defect, scratch string) ([]string, error) {
	var ids, lines []string
	scripts := map[string][]*defect{}
	for _, m := range some {
		if m.isLua() {
			scripts[m.file] = append(scripts[m.file], m)
		} else {
			ids = append(ids, number(m.id))
		}
	}
	for path, in := range scripts {
		slices.SortFunc(in, func(a, b *defect) int { return b.start - a.start })
		source := l.scripts.sources[path]
		for _, m := range in {
			source = source[:m.start] + m.text + source[m.end:]
		}
		if !compiles(ctx, source) {
			return nil, errNotLua
		}
		file := filepath.Join(scratch, some[0].hash+"-"+filepath.Base(path))
		lines = append(lines, path+"="+file)
		if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
			return nil, err
		}
	}
	return []string{mutant.Planted + "=" + strings.Join(ids, ","), mutant.Lua + "=" + strings.Join(lines, "\n")}, nil
}

// attempt runs tests of one package with mutants, and returns which of them has failed, if that is known. If they do not end in
// time, they do the same without a mutant, in half of the time: otherwise the machine is busy, and they get more time.
func (l *library) attempt(ctx context.Context, some []*defect, tests []*test, scratch string) (v verdict, by *test, err error) {
	env, err := l.plant(ctx, some, scratch)
	switch {
	case ctx.Err() != nil:
		return undecided, nil, nil //nolint:nilerr // luac was ended, which is no fault of the script
	case errors.Is(err, errNotLua):
		return notMade, nil, nil
	case err != nil:
		return undecided, nil, err
	}
	b := tests[0].in
	for limit := limitOf(tests); ; limit *= 3 {
		out, inTime, err := b.runWithin(ctx, limit, scratch, env, tests)
		var ended *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return undecided, nil, nil //nolint:nilerr // the tests were ended, which is no fault of their own
		case !inTime:
			if _, inTime, _ := b.runWithin(ctx, limit/2, scratch, nil, tests); inTime {
				return caught, failedOf(tests, nil), nil
			}
		case err == nil:
			return survived, nil, nil
		case errors.As(err, &ended):
			return caught, failedOf(tests, out), nil
		default:
			return undecided, nil, fmt.Errorf("the tests of %s: %w", b.of.ImportPath, err)
		}
	}
}

// limitOf is how long tests may take with a defect: much longer than without one, because others use the machine as well.
func limitOf(tests []*test) time.Duration {
	limit, longest := 4*time.Second, time.Duration(0)
	for _, t := range tests {
		longest = max(longest, t.Took)
		limit += t.Took / 2 // they run beside one another
	}
	return limit + 3*longest
}

// names is a regular expression for the names of tests.
func names(tests []*test) string {
	var all []string
	for _, t := range tests {
		all = append(all, regexp.QuoteMeta(t.Name))
	}
	return strings.Join(all, "|")
}

var testFailed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// failedOf is the test that has failed, by what the process has written. A process that was ended, or that ended in a panic, may
// not say it.
func failedOf(tests []*test, out []byte) *test {
	m := testFailed.FindSubmatch(out)
	for _, t := range tests {
		if len(tests) == 1 || m != nil && t.Name == string(m[1]) {
			return t
		}
	}
	return nil
}

// runWithin runs tests for so long at most.
func (b *binary) runWithin(ctx context.Context, limit time.Duration, scratch string, env []string, tests []*test) ([]byte, bool, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	of, err := b.run(limited, scratch, env, tests, "-test.failfast")
	return of.out, limited.Err() == nil, err
}
