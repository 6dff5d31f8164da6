package world

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

const (
	askTime  = 2 * time.Second  // for a server to answer a question
	healTime = 90 * time.Second // for all servers to serve again
)

// A world is what all topologies have in common.
type world struct {
	*reporter
	kind   redistest.Kind
	target Target
	hosts  []*host

	serving func() ([]*host, error) // those that have locks now, one for each part of the keys
	settled func() error            // nil if all are as they were at the start, apart from who is a primary
	mend    func() error            // what Heal does before it waits; nil: nothing
	own     func() []Nemesis        // those of the topology; nil: none

	watchers []*host  // servers that have no locks: the sentinels
	front    *host    // whose relay all processes go through; nil: each server has its own
	primary  *host    // of Replicas
	expected []string // the ports of those that have locks, as of the last fail-over that was meant

	patience time.Duration // of Heal, with each server

	network sync.Mutex // one strike at a time
	servers sync.Mutex // one strike at a time
}

// A host is one server and the relay in front of it.
type host struct {
	*redistest.Server
	relay *redistest.Relay
	clock *hostClock    // nil: it is that of the machine
	admin *redis.Client // past the relay, as the default user
	late  *lateCommands

	replicated bool     // by something else than a Cluster
	comeback   []string // the arguments with which it is started again, once it was killed
}

// host puts a relay in front of a server.
func (w *world) host(server *redistest.Server, clock *redistest.Clock) *host {
	w.Helper()
	h := &host{
		Server: server, relay: redistest.NewRelay(w.reporter, server.Addr()),
		admin: server.Client(w.reporter, redistest.Impatient(askTime)), late: &lateCommands{},
	}
	if clock != nil {
		h.clock = &hostClock{clock: clock}
	}
	w.target.Via[server.Addr()] = h.relay.Addr()
	return h
}

// do has the server execute a command.
func (h *host) do(args ...any) error {
	if err := h.admin.Do(context.Background(), args...).Err(); err != nil {
		return fmt.Errorf("port %d: %v: %w", h.Port(), args, err)
	}
	return nil
}

// config sets something of the server's configuration.
func (h *host) config(name string, value any) error { return h.do("CONFIG", "SET", name, value) }

// field is what INFO says under a name.
func (h *host) field(section, name string) (string, error) {
	info, err := h.admin.InfoMap(context.Background(), section).Result()
	if err != nil {
		return "", fmt.Errorf("port %d: INFO: %w", h.Port(), err)
	}
	value, ok := info[section][name]
	if !ok {
		return "", fmt.Errorf("port %d: INFO does not say %s", h.Port(), name)
	}
	return value, nil
}

// number is a field that is one.
func (h *host) number(section, name string) (int64, error) {
	text, err := h.field(section, name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// oneServing chooses one of the servers that have locks.
func (w *world) oneServing(rng *rand.Rand) (*host, error) {
	hosts, err := w.serving()
	if err != nil {
		return nil, err
	}
	return hosts[rng.IntN(len(hosts))], nil
}

// some chooses one of the servers that have locks, or takes all there are that processes may go to.
func (w *world) some(rng *rand.Rand) ([]*host, error) {
	if w.front != nil {
		return []*host{w.front}, nil
	}
	one, err := w.oneServing(rng)
	if err != nil {
		return nil, err
	}
	if rng.IntN(2) == 0 {
		return w.hosts, nil
	}
	return []*host{one}, nil
}

// each calls do for all hosts, and returns all errors.
func each(hosts []*host, do func(*host) error) error {
	var errs []error
	for _, h := range hosts {
		errs = append(errs, do(h))
	}
	return errors.Join(errs...)
}

// during calls do until d is over, with pauses of gap.
func during(d, gap time.Duration, do func() error) error {
	for end := time.Now().Add(d); ; time.Sleep(min(gap, max(0, time.Until(end)))) {
		if err := do(); err != nil {
			return err
		}
		if time.Until(end) <= gap {
			time.Sleep(max(0, time.Until(end)))
			return nil
		}
	}
}

// until calls ok until it returns nil, and returns its last error if that takes too long.
func (w *world) until(ok func() error) error { return redistest.Until(w.patience, ok) }

func portOf(h *host) string { return strconv.Itoa(h.Port()) }

func portsOf(hosts []*host) []string {
	var ports []string
	for _, h := range hosts {
		ports = append(ports, portOf(h))
	}
	return ports
}
