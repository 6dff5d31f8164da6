package servers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A way is how a program reaches a server.
type way struct {
	name string
	// open returns a client; nil if the server cannot be reached so.
	open  func(t *testing.T, s *server) *redis.Client
	lossy bool // messages are lost on it
}

// database is another one than that which is used if nobody says anything.
const database = 9

// ways are all of them, in the order of the table.
var ways = []way{
	{name: "RESP2", open: plain(func(o *redis.Options) { o.Protocol = 2 })},
	{name: "RESP3", open: plain(func(o *redis.Options) { o.Protocol = 3 })},
	{name: "database " + fmt.Sprint(database), open: plain(func(o *redis.Options) { o.DB = database })},
	{name: "Unix socket", open: plainTo(func(s *server, o *redis.Options) { o.Network, o.Addr = "unix", s.socket })},
	{name: "TLS", open: overTLS},
	{name: "least rights", open: asUser},
	{name: "lossy proxy", open: overLoss, lossy: true},
}

func plain(mod func(*redis.Options)) func(t *testing.T, s *server) *redis.Client {
	return plainTo(func(_ *server, o *redis.Options) { mod(o) })
}

func plainTo(mod func(*server, *redis.Options)) func(t *testing.T, s *server) *redis.Client {
	return func(t *testing.T, s *server) *redis.Client {
		t.Helper()
		return s.running.Client(t, func(o *redis.Options) { mod(s, o) })
	}
}

// overTLS shows a certificate of its own.
func overTLS(t *testing.T, s *server) *redis.Client {
	t.Helper()
	if s.tlsAddr == "" {
		return nil
	}
	own := s.ca.Issue(t, "client", time.Hour)
	return s.running.Client(t, func(o *redis.Options) { o.Addr, o.TLSConfig = s.tlsAddr, s.ca.Config(own) })
}

// asUser may do what docs/rights.md says, word for word, and has to give the password.
func asUser(t *testing.T, s *server) *redis.Client {
	t.Helper()
	rules := documentedRights(t)
	if s.before(7) { // as the page says
		rules = slices.Insert(rules, slices.Index(rules, "&redislock:*"), "resetchannels")
	}
	args := []any{"acl", "setuser"}
	for _, rule := range rules {
		args = append(args, rule)
	}
	if err := s.admin.Do(t.Context(), args...).Err(); err != nil {
		if !s.byHand {
			t.Errorf("ACL SETUSER, as docs/rights.md says: %v", err)
		}
		return nil
	}
	return s.running.Client(t, func(o *redis.Options) { o.Username, o.Password = rules[0], "PASSWORD" })
}

// documentedRights are the words behind ACL SETUSER.
func documentedRights(t *testing.T) []string {
	t.Helper()
	page := string(check.Must[[]byte](t)(os.ReadFile("../../../docs/rights.md")))
	_, rules, found := strings.Cut(page, "ACL SETUSER ")
	rules, _, ended := strings.Cut(rules, "\n\n")
	if !found || !ended {
		t.Fatal("docs/rights.md has no ACL SETUSER")
	}
	return strings.Fields(rules)
}

// overLoss leads over a relay that loses requests and replies at random, and once all connections.
func overLoss(t *testing.T, s *server) *redis.Client {
	t.Helper()
	relay := redistest.NewRelay(t, s.running.Addr())
	l := &losses{relay: relay, lost: map[string]int{}, taken: make(chan struct{}, 1)}
	seed := rand.Uint64()
	l.dice = rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it is no secret
	l.cut = 50 + l.dice.IntN(200)
	var wg sync.WaitGroup
	wg.Go(func() { l.lose(t.Context()) })
	t.Cleanup(func() {
		wg.Wait()
		t.Logf("seed %d: lost of each scenario: %v", seed, l.lost)
		if len(l.lost) < len(scenarios)/2 || !l.isCut {
			t.Error("the proxy has lost too little")
		}
	})
	return relay.Client(t)
}

// inOrder are the scenarios that say who is next in line. A Release drops whoever nobody hears, as one whose process is gone: so
// somebody else may be next where a Client is not back yet whose connections were cut.
var inOrder = map[string]bool{"the line": true, "readers in line": true, "messages": true}

// losses choose what is lost. Of the requests of one scenario it is not so many that one operation, which is tried four times,
// could fail.
type losses struct {
	relay *redistest.Relay
	taken chan struct{} // a request was taken

	mu    sync.Mutex // guards all below
	dice  *rand.Rand
	lost  map[string]int // scenario → how many of its requests
	cut   int            // requests until all connections are cut, once
	isCut bool           // they were
}

// lose loses one request after the other: it never arrives, or arrives and its reply does not.
func (l *losses) lose(ctx context.Context) {
	for {
		kept := l.relay.Keep(l.takes)
		select {
		case <-l.taken:
		case <-ctx.Done():
			return
		}
		l.mu.Lock()
		arrives := l.dice.IntN(2) == 0
		l.mu.Unlock()
		if arrives {
			kept.Deliver()
		}
	}
}

// takes reports whether this request is to be lost.
func (l *losses) takes(name string, args []string) bool {
	scenario := scenarioOf(args)
	if !strings.HasPrefix(name, "EVAL") || scenario == "" {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut--; l.cut <= 0 && !l.isCut && !inOrder[scenario] {
		l.isCut = true
		go l.relay.Cut()
		return false
	}
	if l.lost[scenario] == 2 || l.dice.IntN(4) > 0 {
		return false
	}
	l.lost[scenario]++
	l.taken <- struct{}{}
	return true
}

// scenarioOf finds in a request the name of the scenario that has sent it.
func scenarioOf(args []string) string {
	for _, arg := range args {
		if _, name, found := strings.Cut(arg, keyPrefix+"#"); found {
			name, _, _ = strings.Cut(name, "#")
			return name
		}
	}
	return ""
}
