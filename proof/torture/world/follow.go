package world

import (
	"fmt"
	"net"
	"strconv"
)

// A role is what a server says of itself.
type role struct {
	primary bool
	of      string // the address of its primary, if it is a replica
	linked  bool   // to that
}

// roleOf asks for it.
func (h *host) roleOf() (role, error) {
	words, err := h.admin.Do(background, "ROLE").Slice()
	if err != nil {
		return role{}, fmt.Errorf("port %d: ROLE: %w", h.Port(), err)
	}
	if len(words) > 3 && words[0] == "slave" {
		port, _ := words[2].(int64)
		return role{of: net.JoinHostPort(fmt.Sprint(words[1]), strconv.FormatInt(port, 10)), linked: words[3] == "connected"}, nil
	}
	return role{primary: true}, nil
}

// kill is kill -9. A server that is replicated comes back in the role that it has now, as if it were in its configuration.
func (h *host) kill() {
	if h.replicated {
		if r, err := h.roleOf(); err == nil {
			h.comeback = []string{"--replicaof", "no", "one"}
			if !r.primary {
				host, port, _ := net.SplitHostPort(r.of)
				h.comeback = []string{"--replicaof", host, port}
			}
		}
	}
	h.Kill()
}

// start is the end of kill.
func (h *host) start() { h.Restart(h.comeback...) }

// follow makes a server a replica of another one, if it is not.
func (h *host) follow(primary *host) error {
	r, err := h.roleOf()
	if err != nil || !r.primary && r.of == primary.Addr() {
		return err
	}
	return h.do("REPLICAOF", "127.0.0.1", primary.Port())
}

// isPrimary returns nil if the server takes itself for one.
func (h *host) isPrimary() error {
	r, err := h.roleOf()
	if err == nil && !r.primary {
		err = fmt.Errorf("port %d is a replica", h.Port())
	}
	return err
}

// followed returns nil if all others are linked to the primary.
func (w *world) followed(primary *host) error {
	if err := primary.isPrimary(); err != nil {
		return err
	}
	online, err := primary.field("Replication", "connected_slaves")
	if err != nil {
		return err
	}
	if online != strconv.Itoa(len(w.hosts)-1) {
		return fmt.Errorf("port %d has %s replicas", primary.Port(), online)
	}
	for _, h := range w.hosts {
		if r, err := h.roleOf(); h != primary && (err != nil || r.primary || r.of != primary.Addr() || !r.linked) {
			return fmt.Errorf("port %d does not follow port %d: %+v, %w", h.Port(), primary.Port(), r, err)
		}
	}
	return nil
}

// others are all servers but one.
func (w *world) others(but *host) []*host {
	var others []*host
	for _, h := range w.hosts {
		if h != but {
			others = append(others, h)
		}
	}
	return others
}
