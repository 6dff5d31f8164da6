package locktest_test

import (
	"crypto/fips140"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/locktest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A recorder is a testing.TB for a test that is to fail.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

// record runs a test and returns why it fails; nothing if it passes.
func record(t *testing.T, test func(tb testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	run := func(fn func()) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			fn()
		}()
		<-ended
	}
	run(func() { test(r) })
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		run(last)
	}
	return strings.Join(r.failures, "\n")
}

func (r *recorder) Helper()                      {}
func (r *recorder) Cleanup(fn func())            { r.cleanups = append(r.cleanups, fn) }
func (r *recorder) Log(args ...any)              { r.TB.Log(args...) }
func (r *recorder) Error(args ...any)            { r.fail(fmt.Sprintln(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.fail(fmt.Sprintf(f, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.fail(fmt.Sprintln(args...))
	runtime.Goexit()
}

func (r *recorder) Fatalf(f string, args ...any) {
	r.fail(fmt.Sprintf(f, args...))
	runtime.Goexit()
}

func (r *recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, text)
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	inBubble(t, fn)
}

func inBubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	if fips140.Enforced() {
		t.Skip("under fips140=only random numbers come from the jitter of the clock, which a bubble has not")
	}
	synctest.Test(t, fn)
}

// each runs a test in a bubble, outside of one, and with real servers. The options are for New.
func each(t *testing.T, fn func(t *testing.T, opts ...locktest.Option)) {
	t.Helper()
	t.Parallel()
	t.Run("bubble", func(t *testing.T) { bubble(t, func(t *testing.T) { fn(t) }) })
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		fn(t)
	})
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		fn(t, locktest.WithRedis("redis://"+redistest.Start(t, kind).Addr()))
	})
}

// isVirtual reports whether it runs in a bubble, whose time begins in the year 2000.
func isVirtual() bool { return time.Now().Year() < 2020 }
