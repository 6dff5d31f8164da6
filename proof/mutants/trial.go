package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// firstTests is how many tests are run in the first process for a mutant; each other process runs four times as many.
const firstTests = 2

// try runs the tests that reach a mutant, until one fails or does not end.
func (b *binary) try(ctx context.Context, l *library, m *defect, tests []*test, scratch string) (verdict, error) {
	env, err := l.plant(ctx, m, scratch)
	switch {
	case ctx.Err() != nil:
		return undecided, nil //nolint:nilerr // luac was ended, which is no fault of the script
	case errors.Is(err, errNotLua):
		return notMade, nil
	case err != nil:
		return undecided, err
	}
	for some := firstTests; len(tests) > 0; some *= 4 {
		now := tests[:min(some, len(tests))]
		tests = tests[len(now):]
		switch verdict, err := b.tryTests(ctx, env, now, scratch); {
		case err != nil, verdict != survived:
			return verdict, err
		}
	}
	return survived, nil
}

// plant returns the environment of a process in which the mutant is.
func (l *library) plant(ctx context.Context, m *defect, scratch string) ([]string, error) {
	if !m.isLua() {
		return []string{mutant.Planted + "=" + number(m.id)}, nil
	}
	file := filepath.Join(scratch, m.hash+".lua")
	source := l.scripts.sources[m.file]
	source = source[:m.start] + m.text + source[m.end:]
	if !compiles(ctx, source) {
		return nil, errNotLua
	}
	return []string{mutant.Lua + "=" + m.file + "=" + file}, os.WriteFile(file, []byte(source), 0o644)
}

// limitOf is how long tests may take with a defect: much longer than without one, because others use the machine as well.
func limitOf(tests []*test) time.Duration {
	limit, longest := 10*time.Second, time.Duration(0)
	for _, t := range tests {
		longest = max(longest, t.Took)
		limit += t.Took / 2 // they run beside one another
	}
	return limit + 3*longest
}

// tryTests runs some tests with a defect. If they do not end in time, they do the same without it, in half of the time: otherwise
// the machine is busy, and they get more time.
func (b *binary) tryTests(ctx context.Context, env []string, tests []*test, scratch string) (verdict, error) {
	var names []string
	for _, t := range tests {
		names = append(names, regexp.QuoteMeta(t.Name))
	}
	args := []string{"-test.failfast", "-test.timeout=0", "-test.run=^(" + strings.Join(names, "|") + ")$"}
	for limit := limitOf(tests); ; limit *= 3 {
		inTime, err := b.runWithin(ctx, limit, scratch, env, args)
		var ended *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return undecided, nil //nolint:nilerr // the tests were ended, which is no fault of their own
		case !inTime:
			if inTime, _ := b.runWithin(ctx, limit/2, scratch, nil, args); inTime {
				return caught, nil
			}
		case err == nil:
			return survived, nil
		case errors.As(err, &ended):
			return caught, nil
		default:
			return undecided, fmt.Errorf("the tests of %s: %w", b.of.ImportPath, err)
		}
	}
}

// runWithin runs the binary for so long at most.
func (b *binary) runWithin(ctx context.Context, limit time.Duration, scratch string, env, args []string) (inTime bool, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err = b.run(limited, scratch, env, args...)
	return limited.Err() == nil, err
}
