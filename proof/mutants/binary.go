package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/mutants/mutant"
	"github.com/seed-14de3678/redislock/proof/plant"
)

// A binary is the compiled tests of one package, with every mutant of the library in it.
type binary struct {
	of    *listed
	path  string
	tests []*test
}

// A test is one top-level test, with what is known of it from a run without a defect.
type test struct {
	Name    string
	Took    time.Duration
	Passes  bool
	Reaches []int // places
	set     map[int]bool
}

// noteTime is how long the tests of one package may take without a defect.
const noteTime = 10 * time.Minute

// build compiles the tests of a package.
func (l *library) build(ctx context.Context, p *listed, scratch string) (*binary, error) {
	dir, err := os.MkdirTemp(scratch, "build-")
	if err != nil {
		return nil, err
	}
	files, tests, err := l.hookTests(p)
	if err != nil {
		return nil, err
	}
	if err := l.hookRigs(files); err != nil {
		return nil, err
	}
	overlay, err := l.write(dir, files)
	if err != nil {
		return nil, err
	}
	b := &binary{of: p, path: filepath.Join(dir, "test")}
	for _, called := range tests {
		b.tests = append(b.tests, &test{Name: called})
	}
	cmd := l.goCommand(ctx, "test", "-c", "-o", b.path, "-overlay", overlay, "-tags", tags, "-trimpath", "-ldflags=-s -w",
		"-vet=off", p.ImportPath)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the tests of %s: %w\n%s", p.ImportPath, err, out)
	}
	return b, nil
}

// learn finds out how long each test takes, and which places it reaches. What was found is kept in a folder, under the hash of
// the binary. It reports whether the tests are of use: some have to pass without a defect.
func (b *binary) learn(ctx context.Context, places int, kept, scratch string) (useful bool, err error) {
	key, err := hashOf(b.path)
	if err != nil {
		return false, err
	}
	known := filepath.Join(kept, key+".json")
	text, err := os.ReadFile(known)
	if err != nil || json.Unmarshal(text, &b.tests) != nil {
		if err = b.note(ctx, places, scratch); err == nil {
			text, err = json.Marshal(b.tests)
		}
		if err == nil {
			err = errors.Join(os.MkdirAll(kept, 0o755), os.WriteFile(known, text, 0o644))
		}
	}
	for _, t := range b.tests {
		useful = useful || t.Passes
		t.set = map[int]bool{}
		for _, id := range t.Reaches {
			t.set[id] = true
		}
	}
	return useful, err
}

func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:12]), nil
}

var testEnded = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (\w+) \((\d+\.\d+)s\)`)

// note runs all tests once, without a defect.
func (b *binary) note(ctx context.Context, places int, scratch string) error {
	table := filepath.Join(scratch, "notes-"+filepath.Base(filepath.Dir(b.path)))
	if err := os.WriteFile(table, make([]byte, max(1, (len(b.tests)+1)*places)), 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	out, err := b.run(ctx, scratch, []string{mutant.Notes + "=" + table}, "-test.v", "-test.timeout=0")
	if ctx.Err() != nil {
		return fmt.Errorf("the tests of %s: %w", b.of.ImportPath, context.Cause(ctx))
	}
	b.times(out)
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		return fmt.Errorf("the tests of %s: %w", b.of.ImportPath, err)
	}
	noted, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	for i, t := range b.tests {
		t.Reaches = reachedIn(noted[(i+1)*places : (i+2)*places])
	}
	b.spread(reachedIn(noted[:places]))
	return nil
}

// times reads what each test has said at its end.
func (b *binary) times(out []byte) {
	byName := map[string]*test{}
	for _, t := range b.tests {
		byName[t.Name] = t
	}
	for line := range strings.Lines(string(out)) {
		m := testEnded.FindStringSubmatch(line)
		if m == nil || byName[m[2]] == nil {
			continue
		}
		seconds, err := strconv.ParseFloat(m[3], 64)
		byName[m[2]].Took = time.Duration(seconds * float64(time.Second))
		byName[m[2]].Passes = err == nil && m[1] == "PASS"
	}
}

func reachedIn(row []byte) []int {
	var all []int
	for id, b := range row {
		if b != 0 {
			all = append(all, id)
		}
	}
	return all
}

// spread has each test that reaches anything reach what was reached while no test was known to run: when the process began, or
// on goroutines that belong to none.
func (b *binary) spread(common []int) {
	for _, t := range b.tests {
		if len(t.Reaches) > 0 {
			t.Reaches = slices.Concat(t.Reaches, common)
		}
	}
}

// reaching returns the tests that reach a mutant, the quickest first.
func (b *binary) reaching(m *defect) []*test {
	var some []*test
	for _, t := range b.tests {
		if t.Passes && slices.ContainsFunc(m.reach, func(id int) bool { return t.set[id] }) {
			some = append(some, t)
		}
	}
	slices.SortStableFunc(some, func(x, y *test) int { return int(x.Took - y.Took) })
	return some
}

// run runs the binary in the folder of its package. When it returns nothing that it has started is left.
func (b *binary) run(ctx context.Context, scratch string, env []string, args ...string) ([]byte, error) {
	tmp, err := os.MkdirTemp(scratch, "tmp-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // what is left goes with the scratch folder
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Dir = b.of.Dir
	cmd.Env = slices.Concat(os.Environ(), env, []string{"TMPDIR=" + tmp, "PWD=" + b.of.Dir})
	cmd.Stdout, cmd.Stderr = &out, &out
	err = plant.Run(cmd)
	return out.Bytes(), err
}
