// Package redistest gives tests something to talk to: real servers, an
// in-process imitation of one, and the faults that happen between a client and
// a server.
//
//   - [Server] is one real process, redis-server or valkey-server; it can be
//     paused, killed and started again.
//   - [Clock] is the wall clock of a server from [StartSkewed], to be set while the
//     server runs.
//   - [Authority] signs certificates for servers that speak TLS, and for their clients.
//   - [Mini] is miniredis with a running clock.
//   - [Shared] and [Each] run one scenario on every kind of server, with one
//     server of each kind for the whole test binary.
//   - [Cluster] and [Sentinels] are replicated set-ups that fail over.
//   - [Relay] stands between a client and a server and loses, holds, delays or
//     cuts what passes.
//   - [StartRole] runs a part of the test in a process of its own, to be paused
//     or killed.
//   - [Main] is the TestMain of a package that uses any of these: it stops what
//     is shared, fails the run if a goroutine outlives the tests, keeps the log of
//     go-redis out of their output, and leaves no files.
//
// Every process listens on 127.0.0.1 alone, writes nothing outside a directory
// of its own, and is killed and reaped when its test ends, or by the kernel when
// the test binary dies (Linux only; elsewhere a killed test binary leaves its
// servers behind). The directories are removed in either case.
package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Kind names an implementation of the Redis protocol. Its text is fit for the
// name of a subtest.
type Kind string

// The kinds there are.
const (
	Miniredis Kind = "miniredis" // in this process, see [Mini]
	Redis     Kind = "redis"     // a redis-server process
	Valkey    Kind = "valkey"    // a valkey-server process
)

// program is the name of the executable of k, empty if k has none.
func (k Kind) program() string {
	switch k {
	case Redis:
		return "redis-server"
	case Valkey:
		return "valkey-server"
	default:
		return ""
	}
}

// announced holds the reasons not to run a test that have been written to stderr.
var announced sync.Map

// Need returns if program can be found, and skips the test if it can't. With
// CI=true in the environment a missing program fails the test instead, so that
// a build machine cannot lose part of its tests unseen.
func Need(tb testing.TB, program string) {
	tb.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	lack(tb, fmt.Sprintf("%s in PATH; install it with the system's package manager (on Debian: apt-get install %s)",
		program, debianPackage(program)))
}

// lack ends a test that needs what is not there, see [Need].
func lack(tb testing.TB, what string) {
	tb.Helper()
	msg := "not run: needs " + what
	if os.Getenv("CI") == "true" {
		tb.Fatal(msg)
	}
	if _, again := announced.LoadOrStore(msg, true); !again {
		// A skip's own text is shown with -v alone.
		fmt.Fprintln(os.Stderr, "redistest: "+msg)
	}
	tb.Skip(msg)
}

// debianPackage is the package that brings program.
func debianPackage(program string) string {
	switch program {
	case "redis-cli":
		return "redis-tools"
	case "valkey-cli":
		return "valkey-tools"
	default:
		return program
	}
}

// newClient returns a client of addr with go-redis's defaults, changed by mod,
// closed when the test ends.
func newClient(tb testing.TB, addr string, mod []func(*redis.Options)) *redis.Client {
	tb.Helper()
	opt := &redis.Options{Addr: addr}
	for _, m := range mod {
		m(opt)
	}
	client := redis.NewClient(opt)
	// The error is dropped: a test may well have closed it already.
	tb.Cleanup(func() { _ = client.Close() })
	return client
}
