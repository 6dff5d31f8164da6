package world

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// A reporter is the test that servers and relays are started for. Once they run, what they would fail the test for is an
// error of the Strike or the Heal instead.
type reporter struct {
	testing.TB
	mu      sync.Mutex
	running bool    // under mu
	errs    []error // under mu; not told yet
}

// ended is what a method panics with that ends the test.
type ended struct{ err error }

func (r *reporter) isRunning() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// run says that all servers are started.
func (r *reporter) run() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = true
}

func (r *reporter) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// Error keeps what does not end the test.
func (r *reporter) Error(args ...any) {
	r.Helper()
	if !r.isRunning() {
		r.TB.Error(args...)
		return
	}
	r.add(errors.New(fmt.Sprint(args...)))
}

// Errorf does so, too.
func (r *reporter) Errorf(format string, args ...any) {
	r.Helper()
	if !r.isRunning() {
		r.TB.Errorf(format, args...)
		return
	}
	r.add(fmt.Errorf(format, args...))
}

// Fatal ends what is going on.
func (r *reporter) Fatal(args ...any) {
	r.Helper()
	if !r.isRunning() {
		r.TB.Fatal(args...)
	}
	panic(ended{errors.New(fmt.Sprint(args...))})
}

// Fatalf does so, too.
func (r *reporter) Fatalf(format string, args ...any) {
	r.Helper()
	if !r.isRunning() {
		r.TB.Fatalf(format, args...)
	}
	panic(ended{fmt.Errorf(format, args...)})
}

// try returns the error of do, and what was reported meanwhile.
func (r *reporter) try(do func() error) (err error) {
	defer func() {
		if e := recover(); e != nil {
			end, ok := e.(ended)
			if !ok {
				panic(e)
			}
			err = end.err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		err = errors.Join(append(r.errs, err)...)
		r.errs = nil
	}()
	return do()
}
