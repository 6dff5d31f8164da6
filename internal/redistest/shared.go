package redistest

import (
	"os"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Backend is a server that a test borrows: it may not stop or pause it, nor
// change its configuration, nor flush it. Keys should derive from the test's
// name. [Server] and [Mini] are Backends.
type Backend interface {
	// Addr is where it listens.
	Addr() string
	// Client returns a client with go-redis's default options apart from the
	// address, changed by mod, closed when the test ends.
	Client(tb testing.TB, mod ...func(*redis.Options)) *redis.Client
	// Kind says what it is.
	Kind() Kind
}

// stopper is a Backend as its owner sees it.
type stopper interface {
	Backend
	Stop()
}

// shared are the servers that live as long as the test binary.
var shared struct {
	mu       sync.Mutex
	backends map[Kind]stopper // under mu
}

// Shared returns this process's server of kind, started by the first call and
// stopped by [Main]. Without the program the test is skipped, see [Need].
func Shared(tb testing.TB, kind Kind) Backend {
	tb.Helper()
	if kind != Miniredis {
		Need(tb, kind.program())
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if b, ok := shared.backends[kind]; ok {
		return b
	}
	b, err := launchBackend(kind)
	if err != nil {
		tb.Fatal(err)
	}
	if shared.backends == nil {
		shared.backends = map[Kind]stopper{}
	}
	shared.backends[kind] = b
	return b
}

func launchBackend(kind Kind) (stopper, error) {
	// Not "return Launch(kind)": a nil *Server is not a nil stopper.
	if kind == Miniredis {
		m, err := LaunchMini()
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	s, err := Launch(kind)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// stopShared stops what [Shared] started.
func stopShared() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	for _, b := range shared.backends {
		b.Stop()
	}
	clear(shared.backends)
}

// Everything reports whether everything is to be tested, and not only what the quick suite needs: make test-all sets
// REDISLOCK_TESTS=all.
func Everything() bool { return os.Getenv("REDISLOCK_TESTS") == "all" }

// Servers are the kinds of real servers that are tested: Redis, and Valkey if everything is.
func Servers() []Kind {
	if Everything() {
		return []Kind{Redis, Valkey}
	}
	return []Kind{Redis}
}

// Each runs fn as a parallel subtest on the shared server of every kind: "miniredis", "redis", and, if everything is
// tested, "valkey".
func Each(t *testing.T, fn func(t *testing.T, b Backend)) {
	t.Helper()
	each(t, append([]Kind{Miniredis}, Servers()...), func(t *testing.T, kind Kind) { fn(t, Shared(t, kind)) })
}

// EachServer runs fn as a parallel subtest for each kind of real server, see [Servers].
func EachServer(t *testing.T, fn func(t *testing.T, kind Kind)) {
	t.Helper()
	each(t, Servers(), fn)
}

func each(t *testing.T, kinds []Kind, fn func(t *testing.T, kind Kind)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			fn(t, kind)
		})
	}
}
