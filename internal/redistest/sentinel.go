package redistest

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// PrimaryName is what the sentinels call the primary they watch.
const PrimaryName = "main"

// Sentinels is a primary with replicas, watched by sentinels, all real processes.
// A primary that is silent for half a second is replaced by a replica within about
// two. The former primary is demoted up to ten seconds after it is back, and takes
// writes until then.
//
// Its methods are safe for concurrent use.
type Sentinels struct {
	tb        testing.TB
	servers   []member // at first: the primary, then the replicas
	sentinels []member
}

// StartSentinels runs a primary, its replicas and the sentinels for the time of the
// test. It returns when the replicas are linked and every sentinel knows all
// replicas and all sentinels and has its quorum, the majority. extraArgs go to the
// primary and the replicas. Without the program the test is skipped, see [Need].
func StartSentinels(tb testing.TB, kind Kind, replicas, sentinels int, extraArgs ...string) *Sentinels {
	tb.Helper()
	Need(tb, kind.program())
	ctx := tb.Context()
	s := &Sentinels{tb: tb}
	s.servers = launchAll(tb, 1, func(int) (*Server, error) { return Launch(kind, extraArgs...) })
	primary := s.servers[0]
	follow := append([]string{"--replicaof", "127.0.0.1", strconv.Itoa(primary.Port())}, extraArgs...)
	s.servers = append(s.servers, launchAll(tb, replicas, func(int) (*Server, error) { return Launch(kind, follow...) })...)
	// Before the sentinels: they look for replicas at once, then every ten seconds.
	if err := Until(formTimeout, func() error { return primary.linkedReplicas(ctx, replicas) }); err != nil {
		tb.Fatalf("redistest: start sentinels: %v", err)
	}
	conf := sentinelConf(primary.Port(), sentinels/2+1)
	s.sentinels = launchAll(tb, sentinels, func(int) (*Server, error) { return launch(&Server{kind: kind, conf: conf}) })
	if err := s.form(ctx); err != nil {
		tb.Fatalf("redistest: start sentinels: %v", err)
	}
	return s
}

func sentinelConf(port, quorum int) string {
	return fmt.Sprintf("sentinel monitor %[1]s 127.0.0.1 %[2]d %[3]d\n"+
		"sentinel down-after-milliseconds %[1]s 500\n"+
		"sentinel failover-timeout %[1]s 3000\n"+
		"sentinel parallel-syncs %[1]s 2\n", PrimaryName, port, quorum)
}

// form waits until the sentinels have found each other.
func (s *Sentinels) form(ctx context.Context) error {
	// They find each other by a greeting sent every two seconds. Greeting more often
	// for the moment saves nearly all of the wait; a sentinel that cannot be told
	// takes its time.
	s.greetEvery(ctx, "100")
	defer s.greetEvery(ctx, "2000")
	return Until(formTimeout, s.Settled)
}

// Settled returns nil if everything is as it was at the start, even if another server is the primary now: every
// sentinel knows all replicas, which are linked, and all sentinels, and has its quorum. Otherwise the error says what
// is missing.
func (s *Sentinels) Settled() error {
	for _, m := range s.sentinels {
		if err := s.ready(s.tb.Context(), m); err != nil {
			return fmt.Errorf("sentinel on port %d: %w", m.Port(), err)
		}
	}
	return nil
}

func (s *Sentinels) greetEvery(ctx context.Context, ms string) {
	for _, m := range s.sentinels {
		_ = m.admin.Do(ctx, "SENTINEL", "DEBUG", "publish-period", ms).Err()
	}
}

// ready returns nil if sentinel m could do a fail-over now.
func (s *Sentinels) ready(ctx context.Context, m member) error {
	state, err := primaryState(ctx, m)
	if err != nil {
		return err
	}
	want := map[string]string{
		"flags":               "master",
		"num-slaves":          strconv.Itoa(len(s.servers) - 1),
		"num-other-sentinels": strconv.Itoa(len(s.sentinels) - 1),
	}
	for k, v := range want {
		if state[k] != v {
			return fmt.Errorf("%s is %q, not yet %q", k, state[k], v)
		}
	}
	quorum, err := m.admin.Do(ctx, "SENTINEL", "CKQUORUM", PrimaryName).Text()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(quorum, fmt.Sprintf("OK %d usable", len(s.sentinels))) {
		return fmt.Errorf("quorum: %s", quorum)
	}
	return replicasKnown(ctx, m)
}

// replicasKnown returns nil if m takes every replica for a healthy one.
func replicasKnown(ctx context.Context, m member) error {
	cmd := redis.NewMapStringStringSliceCmd(ctx, "SENTINEL", "REPLICAS", PrimaryName)
	if err := m.admin.Process(ctx, cmd); err != nil {
		return err
	}
	for _, r := range cmd.Val() {
		if r["flags"] != "slave" || r["master-link-status"] != "ok" {
			return fmt.Errorf("replica on port %s: flags %s, link %s", r["port"], r["flags"], r["master-link-status"])
		}
	}
	return nil
}

// primaryState is what sentinel m knows of the primary.
func primaryState(ctx context.Context, m member) (map[string]string, error) {
	cmd := redis.NewMapStringStringCmd(ctx, "SENTINEL", "MASTER", PrimaryName)
	err := m.admin.Process(ctx, cmd)
	return cmd.Val(), err
}

// Servers are the primary and the replicas. The primary at the start comes first.
func (s *Sentinels) Servers() []*Server { return serversOf(s.servers) }

// Sentinels are the watching processes.
func (s *Sentinels) Sentinels() []*Server { return serversOf(s.sentinels) }

// Client returns a client of the current primary, whichever server that is, with go-redis's default options apart from
// the name and the sentinels, changed by mod, closed when the test ends.
func (s *Sentinels) Client(tb testing.TB, mod ...func(*redis.FailoverOptions)) *redis.Client {
	tb.Helper()
	opt := &redis.FailoverOptions{MasterName: PrimaryName}
	for _, m := range s.sentinels {
		opt.SentinelAddrs = append(opt.SentinelAddrs, m.Addr())
	}
	for _, m := range mod {
		m(opt)
	}
	client := redis.NewFailoverClient(opt)
	// The error is dropped: a test may well have closed it already.
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// Primary returns the server that is the primary now, by the sentinels that answer. If they do not agree, the one with
// the newest fail-over counts. If none answers it ends the test, so call it on the test's own goroutine.
func (s *Sentinels) Primary() *Server {
	s.tb.Helper()
	var primary *Server
	if err := Until(readyTimeout, func() (err error) {
		primary, err = s.newestPrimary()
		return err
	}); err != nil {
		s.tb.Fatalf("redistest: no sentinel knows the primary: %v", err)
	}
	return primary
}

func (s *Sentinels) newestPrimary() (*Server, error) {
	addr, newest := "", -1
	var last error
	for _, m := range s.sentinels {
		state, err := primaryState(s.tb.Context(), m)
		if err != nil {
			last = err
			continue
		}
		if epoch, err := strconv.Atoi(state["config-epoch"]); err == nil && epoch > newest {
			addr, newest = net.JoinHostPort(state["ip"], state["port"]), epoch
		}
	}
	for _, m := range s.servers {
		if m.Addr() == addr {
			return m.Server, nil
		}
	}
	return nil, fmt.Errorf("%q, %v", addr, last) //nolint:errorlint // there may be none
}
