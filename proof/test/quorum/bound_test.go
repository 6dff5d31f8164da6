package quorum_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// errHangs is the cause of a context that has ended because the test waits in vain.
var errHangs = errors.New("the test does not wait any longer")

// bounded is the context of one call, or of a few. It is that of the test, but it ends: what hangs is named
// soon, and not when the package has no time left.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), soon, errHangs)
	t.Cleanup(cancel)
	return ctx
}

// receive waits for a value, or for the end of the channel, and ends the test if neither comes.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(soon):
		t.Fatalf("not within %v: %s", soon, what)
	}
	panic("unreachable")
}

// waitAll waits for goroutines, and ends the test if they do not end.
func waitAll(t *testing.T, all *sync.WaitGroup) {
	t.Helper()
	receive(t, over(all.Wait), "the end of all goroutines")
}

// closeAtEnd has something closed when the test ends, and the test fail if that takes too long. Of a test that has failed
// anyway it waits for a moment only: most likely this hangs, too.
func closeAtEnd(t *testing.T, end func()) {
	t.Helper()
	t.Cleanup(func() {
		ended := over(end)
		if t.Failed() {
			select {
			case <-ended:
			case <-time.After(time.Second):
			}
			return
		}
		receive(t, ended, "a Close")
	})
}

// over runs fn on a goroutine, and returns a channel that is closed when fn has returned.
func over(fn func()) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		fn()
	}()
	return over
}
