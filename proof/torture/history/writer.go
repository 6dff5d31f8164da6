package history

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// A Writer appends events to the file of one process. It is safe for concurrent use.
type Writer struct {
	process int
	mu      sync.Mutex
	file    *os.File
}

// Create makes the file of a process, which must not be there yet.
func Create(path string, process int) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &Writer{process: process, file: file}, nil
}

// Add writes an event down; its Process, and its At if that is 0, are filled in. It panics if the file cannot be written,
// because a history with a gap is worth nothing.
func (w *Writer) Add(e Event) {
	e.Process = w.process
	if e.At == 0 {
		e.At = Now()
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("history: %v", err))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.file.Write(append(line, '\n')); err != nil {
		panic(fmt.Sprintf("history: %v", err))
	}
}

// Close ends the file.
func (w *Writer) Close() error { return w.file.Close() }
