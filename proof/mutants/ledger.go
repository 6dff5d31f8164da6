package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// A ledger is a file that verdicts are added to, by hash, so that a run of hours can be done piece by piece. It is about one
// tree: what is decided is not tried again, even if a test has been changed that would decide otherwise.
type ledger struct {
	mu   sync.Mutex
	file *os.File // nil: nothing is kept
}

// open opens the ledger, and returns what it says. Without a name nothing is kept.
func (l *ledger) open(name string) (known map[string]verdict, err error) {
	known = map[string]verdict{}
	if name == "" {
		return known, nil
	}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		hash, v, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is no hash with a verdict", name, line)
		}
		known[hash] = verdict(v)
	}
	l.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return known, err
}

// enter adds a verdict.
func (l *ledger) enter(m *defect, v verdict) error {
	if l.file == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintln(l.file, m.hash, v)
	return err
}

func (l *ledger) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
