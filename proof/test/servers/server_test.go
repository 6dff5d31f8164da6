package servers_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A program is a server that can be started.
type program struct {
	product string // Redis, Valkey, or what the environment calls it
	path    string
	byHand  bool // the gate has none
}

// newest is the folder where `.ci/install newest` puts servers.
const newest = "../../../.bin/newest"

// programs are those there are, each once.
func programs(t *testing.T) []program {
	t.Helper()
	var all []program
	seen := map[string]bool{}
	add := func(p program) {
		p.path = check.Must[string](t)(filepath.Abs(p.path))
		if !seen[p.path] {
			seen[p.path] = true
			all = append(all, p)
		}
	}
	_, err := os.Stat(newest)
	for product, name := range map[string]string{"Redis": "redis-server", "Valkey": "valkey-server"} {
		t.Run("there is a "+name, func(t *testing.T) {
			redistest.Need(t, name)
			add(program{product: product, path: check.Must[string](t)(exec.LookPath(name))})
		})
		if err == nil { // then both are there, or it is broken
			add(program{product: product, path: filepath.Join(newest, name)})
		}
	}
	for _, each := range strings.FieldsFunc(os.Getenv("REDISLOCK_SERVERS"), func(r rune) bool { return r == ',' }) {
		product, path, ok := strings.Cut(each, "=")
		if !ok {
			t.Fatalf("REDISLOCK_SERVERS: %q is no name=path", each)
		}
		add(program{product: product, path: path, byHand: true})
	}
	return all
}

// A server is one that runs, with all that is needed to reach it in every way.
type server struct {
	program
	version string // "7.0"
	running *redistest.Server
	admin   *redis.Client
	socket  string
	ca      *redistest.Authority
	tlsAddr string // empty if it was built without TLS
}

// start runs a program.
func (p program) start(t *testing.T) *server {
	t.Helper()
	dir := check.Must[string](t)(os.MkdirTemp("", "s")) //nolint:usetesting // the path of a socket must be short
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &server{program: p, socket: filepath.Join(dir, "s")}
	s.running = redistest.StartProgram(t, redistest.Kind(p.product), p.path, "--unixsocket", s.socket)
	s.admin = s.running.Client(t)
	info := s.admin.InfoMap(t.Context(), "server").Val()["Server"]
	full := cmp.Or(info["valkey_version"], info["redis_version"])
	if parts := strings.SplitN(full, ".", 3); len(parts) > 1 {
		s.version = parts[0] + "." + parts[1]
	} else {
		t.Fatalf("%s says that its version is %q", p.path, full)
	}
	t.Logf("%s %s", p.product, full)
	s.ca = redistest.NewAuthority(t)
	s.tlsAddr = s.running.StartTLS(t, s.ca)
	if s.tlsAddr == "" && !s.byHand {
		t.Fatalf("%s: the server has no TLS", s.row())
	}
	return s
}

// row is how the table calls it.
func (s *server) row() string { return s.product + " " + s.version }

// before reports whether the server is older than a version. What has another name than Redis and is no Valkey counts as old:
// its numbers are its own.
func (s *server) before(major int) bool {
	var have int
	_, _ = fmt.Sscanf(s.version, "%d.", &have)
	return have < major || s.product != "Redis" && s.product != "Valkey"
}
