package locktest

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
)

// environment names the variable with the URL of a real server.
const environment = "REDISLOCK_TEST_REDIS"

// A Server is one Redis for one test. It is safe for concurrent use. Its methods may end the test, so
// call them on a goroutine on which [testing.TB.FailNow] may be called.
type Server struct {
	tb      testing.TB
	url     string // of a real server; empty: the one in this process
	shared  bool   // the server has data of others, in other databases
	checks  bool   // at the end of the test
	network *network
	rdb     *redis.Client     // of the code under test: over the network, and with faults
	direct  *redis.Client     // of the Server itself: past both
	other   *redislock.Client // somebody else, over direct

	places     places // of the locks of its Clients
	background sync.WaitGroup
	ending     chan struct{} // closed at the end of the test

	mu      sync.Mutex // guards all that follows
	clients []*redislock.Client
	held    []*redislock.Lock // by Hold
	faults  []*Fault
	keys    map[string]struct{} // that were asked for over rdb
}

// An Option changes a default of [New].
type Option func(*Server)

// WithRedis has the Server use a real Redis or Valkey, such as redis://localhost:6379, in which it takes
// a database of its own: see the package comment. Inside a bubble of testing/synctest the test fails.
// Default: the server that the environment variable REDISLOCK_TEST_REDIS names, outside of bubbles;
// and one inside the test, if there is no such variable.
func WithRedis(url string) Option { return func(s *Server) { s.url = url } }

// WithoutCheck is for a test that leaves something locked on purpose: its end is not checked. The test
// can call [Server.AssertFree] by itself, at any time. Default: the end of the test is checked.
func WithoutCheck() Option { return func(s *Server) { s.checks = false } }

// New makes a Server, which ends with the test. Inside a bubble of testing/synctest tb has to be the one
// that the bubble was given.
//
// The test is checked when it is over, after the Cleanup functions that it has registered since. It fails
// if something is still held or somebody waits, as [Server.AssertFree] says, and if a [Fault] has met no
// request. Then all Clients of the Server are closed.
func New(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	s := &Server{tb: tb, checks: true, ending: make(chan struct{}), keys: make(map[string]struct{})}
	for _, opt := range opts {
		if opt != nil {
			opt(s)
		}
	}
	options := s.start()
	s.network = &network{dial: options.Dialer, open: make(map[*link]struct{})}
	s.direct = s.redis(*options)
	over := *options
	over.Dialer = s.network.Dial
	s.rdb = s.redis(over)
	s.rdb.AddHook(check.Around{Send: s.pass})
	s.other = redislock.New(s.direct)
	tb.Cleanup(s.end)
	return s
}

// start returns the way to the server of the test.
func (s *Server) start() *redis.Options {
	s.tb.Helper()
	switch url := cmp.Or(s.url, os.Getenv(environment)); {
	case url == "":
		return embeddedFor(s.tb)
	case !clock.IsVirtual():
		s.shared = true
		return database(s.tb, url)
	case s.url != "":
		s.tb.Fatal("locktest: a bubble of testing/synctest has no network: WithRedis cannot be used there")
	}
	s.tb.Log("locktest: inside a bubble of testing/synctest the embedded server is used, not that of " + environment)
	return embeddedFor(s.tb)
}

// redis returns a Redis client that is closed with the test.
func (s *Server) redis(options redis.Options) *redis.Client {
	rdb := redis.NewClient(&options)
	s.tb.Cleanup(func() { _ = rdb.Close() }) // it may have been closed by the test
	return rdb
}

// Client returns a Client for the code under test. Its requests meet the faults of the Server. It hears
// at once of [Server.Break] and [Server.Expire]: the Client is made with [redislock.WithBreakNotices]. It
// is closed with the test.
func (s *Server) Client(opts ...redislock.ClientOption) *redislock.Client {
	var client *redislock.Client
	placing := redislock.WithHooks(s.places.hooks(func(key string) string { return client.RedisKey(key) }))
	client = redislock.New(s.rdb, append([]redislock.ClientOption{redislock.WithBreakNotices(), placing}, opts...)...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, client)
	return client
}

// Redis returns a Redis client for code under test that makes a Client of its own. Everything that
// [Server.Client] says is true of such a Client, too, with two exceptions: it is told at once of a Break
// only if the code makes it with [redislock.WithBreakNotices], and the code has to close it.
//
// Commands of other kinds go through as they are. They meet no faults except [Server.Away]. On a real server FLUSHALL
// is refused, because it would empty the databases of others, too; use FLUSHDB. The Redis client is closed with the
// test. If the code makes another Redis client from its Options, that one has the same server and database, but the
// Server does not see what it locks, and it meets no fault except Away.
func (s *Server) Redis() *redis.Client { return s.rdb }

// names returns every key that was asked for, sorted.
func (s *Server) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.keys))
}

// end is the end of the test.
func (s *Server) end() {
	s.tb.Helper()
	s.endFaults()
	if s.checks {
		s.assertFree("at the end of the test")
	}
	close(s.ending)
	s.mu.Lock()
	clients := s.clients
	s.mu.Unlock()
	for _, client := range clients {
		client.Close()
	}
	s.other.Close()
	s.background.Wait()
}

// tell publishes a notice of broken locks. A Client with a new lock may not have subscribed yet. In a bubble it
// has as soon as time passes, however little. Elsewhere tell repeats the notice for a while.
func (s *Server) tell(notice listen.Notice) {
	ctx, text := context.Background(), notice.Text()
	if clock.IsVirtual() {
		time.Sleep(time.Nanosecond)
		s.direct.Publish(ctx, listen.NoticeChannel, text)
		return
	}
	s.direct.Publish(ctx, listen.NoticeChannel, text)
	s.background.Go(func() {
		for _, pause := range noticePauses {
			if !s.sleep(pause) {
				return
			}
			s.direct.Publish(ctx, listen.NoticeChannel, text)
		}
	})
}
