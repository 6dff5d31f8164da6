// Package check has the checks that all tests use, hooks that count or change the commands of a client, and time-outs that
// allow for a busy machine.
package check

import (
	"errors"
	"runtime"
	"testing"
	"time"
)

// Must returns a function that takes a value and an error. It returns the value, and ends the test if there is an error.
func Must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		NoError(t, err)
		return v
	}
}

// NoError ends the test if there is an error.
func NoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// Is ends the test if the error does not match each of the targets.
func Is(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Fatalf("got error %v, want one that is %v", err, target)
		}
	}
}

// HammerTime is how long a test runs that finds more the longer it runs.
const HammerTime = 10 * time.Second

// InUse is the memory that the process uses, without what could be collected.
func InUse() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC() // what had a finalizer in the first is collected in the second
	runtime.ReadMemStats(&m)
	return m
}
