package locktest

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/seed-14de3678/redislock"
)

// places knows where the Clients of a Server have obtained the locks that they hold.
type places struct {
	mu    sync.Mutex
	locks []placed // the latest last
}

// A placed lock has a place: the file and line of the Obtain.
type placed struct {
	id    uint64   // of its events
	keys  []string // as they are in Redis
	place string
}

// of returns where the lock that holds a key was obtained; empty if nobody knows.
func (p *places) of(key string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, lock := range slices.Backward(p.locks) {
		if slices.Contains(lock.keys, key) {
			return lock.place
		}
	}
	return ""
}

// hooks take note of what a Client obtains, and of what ends. redisKey names a key as it is in Redis.
func (p *places) hooks(redisKey func(string) string) redislock.Hooks {
	return redislock.Hooks{
		Obtained: func(_ context.Context, e redislock.Event) {
			lock := placed{id: e.ID, place: caller()}
			for _, key := range e.Keys {
				lock.keys = append(lock.keys, redisKey(key))
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.locks = append(p.locks, lock)
		},
		Released: func(_ context.Context, e redislock.Event) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if e.Ended {
				p.locks = slices.DeleteFunc(p.locks, func(lock placed) bool { return lock.id == e.ID })
			}
		},
	}
}

// module is the module of the library. library are its packages: the first caller outside of them has obtained a lock.
const module = "github.com/seed-14de3678/redislock"

var library = []string{"", "/multi", "/quorum", "/reentrant", "/election", "/locktest", "/internal/"}

// caller returns the file and line of the first function of the stack that is not one of the library.
func caller() string {
	var stack [64]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(2, stack[:])])
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !isOfLibrary(frame.Function) {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}

func isOfLibrary(function string) bool {
	return slices.ContainsFunc(library, func(folder string) bool {
		rest, ok := strings.CutPrefix(function, module+folder)
		return ok && (strings.HasPrefix(rest, ".") || strings.HasSuffix(folder, "/"))
	})
}
