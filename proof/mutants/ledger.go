package main

import (
	"fmt"
	"os"
	"sync"
)

// A ledger is a file that verdicts are added to, by hash, so that a run of hours can be done piece by piece. It is about one
// tree: what is decided is not tried again, even if a test has been changed that would decide otherwise.
type ledger struct {
	mu   sync.Mutex
	file *os.File // nil: nothing is kept
}

// open opens the ledger, and returns the verdicts that it has. Without a name nothing is kept.
func (l *ledger) open(name string) (known map[string]string, err error) {
	if name == "" {
		return nil, nil
	}
	known, err = readByHash(name, "a verdict", func(text string) bool { return text != "" })
	if err != nil {
		return nil, err
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
