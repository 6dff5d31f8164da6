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
	"slices"
	"sync"
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

// A test is one top-level test, with what is known of it from a run by itself, without a defect.
type test struct {
	Name    string
	Took    time.Duration
	Costs   time.Duration // of processor time, without what every process of the binary costs
	Passes  bool
	Reaches []int // places
	set     map[int]bool
	in      *binary
}

// noteTime is how long one test may take without a defect.
const noteTime = 3 * time.Minute

// build compiles the tests of a package.
func (l *library) build(ctx context.Context, p *listed, scratch string) (*binary, error) {
	dir, err := os.MkdirTemp(scratch, "build-")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	if err := l.hookRigs(files); err != nil {
		return nil, err
	}
	overlay, err := l.write(dir, files)
	if err != nil {
		return nil, err
	}
	tests, err := p.testsOf()
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

// learn finds out what each test costs, and which places it reaches. What was found is kept in a folder, under the hash of the
// binary. It reports whether the tests are of use: some have to pass without a defect.
func (b *binary) learn(ctx context.Context, places, jobs int, kept, scratch string) (useful bool, err error) {
	key, err := hashOf(b.path)
	if err != nil {
		return false, err
	}
	known := filepath.Join(kept, key+".json")
	text, err := os.ReadFile(known)
	if err != nil || json.Unmarshal(text, &b.tests) != nil {
		if err = b.noteAll(ctx, places, jobs, scratch); err == nil {
			text, err = json.Marshal(b.tests)
		}
		if err == nil {
			err = errors.Join(os.MkdirAll(kept, 0o755), os.WriteFile(known, text, 0o644))
		}
	}
	for _, t := range b.tests {
		useful = useful || t.Passes
		t.in, t.set = b, map[int]bool{}
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

// noteAll runs each test once, by itself, some at a time.
func (b *binary) noteAll(ctx context.Context, places, jobs int, scratch string) error {
	nothing := &test{}
	if err := b.note(ctx, nothing, places, scratch); err != nil {
		return err
	}
	return each(ctx, jobs, b.tests, func(t *test) error {
		err := b.note(ctx, t, places, scratch)
		t.Costs = max(time.Millisecond, t.Costs-nothing.Costs)
		return err
	})
}

// note runs one test without a defect.
func (b *binary) note(ctx context.Context, t *test, places int, scratch string) error {
	notes, err := os.CreateTemp(scratch, "notes-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(notes.Name()) }()
	if err := errors.Join(notes.Truncate(int64(max(1, places))), notes.Close()); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	began := time.Now()
	ran, err := b.run(limited, scratch, []string{mutant.Notes + "=" + notes.Name()}, []*test{t}, "-test.v")
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if ended := (*exec.ExitError)(nil); err != nil && limited.Err() == nil && !errors.As(err, &ended) {
		return fmt.Errorf("%s of %s: %w", t.Name, b.of.ImportPath, err)
	}
	t.Took, t.Costs = time.Since(began), ran.cost
	t.Passes = err == nil && bytes.Contains(ran.out, []byte("--- PASS: "+t.Name))
	noted, err := os.ReadFile(notes.Name())
	for id, is := range noted {
		if is != 0 {
			t.Reaches = append(t.Reaches, id)
		}
	}
	return err
}

// reach reports whether a test reaches one of some mutants, and can tell something of them.
func (t *test) reach(some []*defect) bool {
	return t.Passes && slices.ContainsFunc(some, func(m *defect) bool {
		return slices.ContainsFunc(m.reach, func(id int) bool { return t.set[id] })
	})
}

// A ran process is what is known of it at its end.
type ran struct {
	out  []byte
	cost time.Duration // of processor time
}

// run runs tests in the folder of their package. When it returns nothing that they have started is left.
func (b *binary) run(ctx context.Context, scratch string, env []string, tests []*test, args ...string) (ran, error) {
	tmp, err := os.MkdirTemp(scratch, "tmp-")
	if err != nil {
		return ran{}, err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // what is left goes with the scratch folder
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, b.path, append(args, "-test.timeout=0", "-test.run=^("+names(tests)+")$")...)
	cmd.Dir = b.of.Dir
	cmd.Env = slices.Concat(os.Environ(), env, []string{"TMPDIR=" + tmp, "PWD=" + b.of.Dir})
	cmd.Stdout, cmd.Stderr = &out, &out
	err = plant.Run(cmd)
	of := ran{out: out.Bytes()}
	if cmd.ProcessState != nil {
		of.cost = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return of, err
}

// each calls fn for all of a list, for some at a time, until ctx ends.
func each[T any](ctx context.Context, jobs int, all []T, fn func(T) error) error {
	todo := make(chan T)
	failed := make([]error, jobs)
	var workers sync.WaitGroup
	for i := range jobs {
		workers.Go(func() {
			for one := range todo {
				failed[i] = errors.Join(failed[i], fn(one))
			}
		})
	}
	for _, one := range all {
		select {
		case todo <- one:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(todo)
	workers.Wait()
	return errors.Join(failed...)
}
