// Package check has what tests say most often.
package check

import (
	"errors"
	"testing"
	"time"
)

// Must returns what takes a value and an error, and ends the test if there is one.
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

// Is ends the test if the error is not all of the targets.
func Is(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Fatalf("got error %v, want one that is %v", err, target)
		}
	}
}

// Eventually waits until a state that comes by itself is there, and ends the test if it does not come.
func Eventually(t *testing.T, within time.Duration, what string, state func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !state(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}
