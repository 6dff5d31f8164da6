package redistest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	formTimeout = 60 * time.Second       // for a cluster or sentinels to be ready; two seconds on an idle machine
	askTimeout  = 500 * time.Millisecond // for a node to answer a question, which a paused one never does
)

// member is a server with clients to look after it.
type member struct {
	*Server
	admin  *redis.Client // for questions, which may be repeated
	orders *redis.Client // for orders, which a working server gets once
}

// launchAll starts n servers at the same time, for the time of the test.
func launchAll(tb testing.TB, n int, launch func(i int) (*Server, error)) []member {
	tb.Helper()
	servers, errs := make([]*Server, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { servers[i], errs[i] = launch(i) })
	}
	wg.Wait()
	var members []member
	for _, s := range servers {
		if s != nil {
			members = append(members, member{s.adopt(tb), s.Client(tb, Impatient(askTimeout)), s.Client(tb, Impatient(readyTimeout))})
		}
	}
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
	return members
}

// Impatient makes a client that asks once, and waits for so long for its answer.
func Impatient(patience time.Duration) func(*redis.Options) {
	return func(opt *redis.Options) {
		opt.MaxRetries, opt.DialerRetries = -1, 1
		opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout = patience, patience, patience
		opt.DisableIdentity = true
		opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}
}

// serversOf returns the servers behind members.
func serversOf(members []member) []*Server {
	servers := make([]*Server, len(members))
	for i, m := range members {
		servers[i] = m.Server
	}
	return servers
}

// atPort finds the server that listens on port, nil if there is none.
func atPort(members []member, port int) *Server {
	for _, m := range members {
		if m.Port() == port {
			return m.Server
		}
	}
	return nil
}

// linkedReplicas returns nil if as many replicas as wanted stream from m.
func (m member) linkedReplicas(ctx context.Context, want int) error {
	info, err := m.admin.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if got := strings.Count(info, ",state=online,"); got != want {
		return fmt.Errorf("port %d streams to %d replicas of %d", m.Port(), got, want)
	}
	return nil
}

// linkedToMaster returns nil if m is a replica that is up to date.
func (m member) linkedToMaster(ctx context.Context) error {
	info, err := m.admin.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "master_link_status:up") {
		return fmt.Errorf("replica on port %d is not linked", m.Port())
	}
	return nil
}
