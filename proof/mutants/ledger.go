package main

import (
	"bufio"
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

// openLedger opens a file, and returns what it says. Without a name nothing is kept.
func openLedger(name string) (*ledger, map[string]verdict, error) {
	known := map[string]verdict{}
	if name == "" {
		return &ledger{}, known, nil
	}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		hash, v, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			return nil, nil, fmt.Errorf("%s: %q is no hash with a verdict", name, lines.Text())
		}
		known[hash] = verdict(v)
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &ledger{file: file}, known, err
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
