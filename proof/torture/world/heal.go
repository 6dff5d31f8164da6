package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// background is the context of what is done to servers: each command has a time-out of its own.
var background = context.Background()

// Target says how to reach the servers.
func (w *world) Target() Target { return w.target }

// Nemeses are the faults.
func (w *world) Nemeses() []Nemesis {
	all := append(w.networkFaults(), w.serverFaults()...)
	all = append(all, w.dataFaults()...)
	all = append(all, w.clockFaults()...)
	if w.own != nil {
		all = append(all, w.own()...)
	}
	return all
}

// Accidents compares whoever has locks now with those who have them by a fault.
func (w *world) Accidents() []check.Promise {
	w.servers.Lock()
	defer w.servers.Unlock()
	before := w.expected
	w.expect()
	if slices.Equal(before, w.expected) {
		return nil
	}
	return w.loses()
}

// Heal waits for strikes that are under way. A clock that was set back stays so, see [world.Left].
func (w *world) Heal() error {
	w.network.Lock()
	defer w.network.Unlock()
	w.servers.Lock()
	defer w.servers.Unlock()
	return w.try(func() error {
		calm(w.hosts)
		calm(w.watchers)
		var errs []error
		for _, h := range w.hosts {
			if err := w.revive(h); err != nil {
				errs = append(errs, fmt.Errorf("heal: %w", err))
			}
		}
		for _, h := range w.hosts {
			h.deliver(func() bool { return true })
		}
		return errors.Join(append(errs, w.until(w.rejoined), w.until(w.serves))...)
	})
}

// revive has the process of a server run, and gives it the configuration that it had at the start.
func (w *world) revive(h *host) error {
	_ = w.try(func() error { h.Resume(); return nil }) // it fails if the process is gone
	if h.clock != nil {
		h.clock.clock.SlowDisk(0)
		h.clock.set(min(0, h.clock.now()))
	}
	err := w.until(func() error {
		err := h.isUp()
		if isRefused(err) {
			return w.try(func() error { h.start(); return nil })
		}
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(
		w.until(h.killScript),
		h.do("CLIENT", "UNPAUSE"),
		w.until(h.killScript), // it may have begun only now
		h.config("busy-reply-threshold", 5000),
		h.config("maxmemory", 0), h.config("maxmemory-policy", "noeviction"),
		h.config("min-replicas-to-write", 0),
		h.do(append([]any{"ACL", "SETUSER", username}, anys(rights())...)...),
	)
}

// rejoined returns nil if every server is where it belongs. It helps where that takes long by itself.
func (w *world) rejoined() error {
	err := w.settled()
	if err == nil || w.mend == nil {
		return err
	}
	return errors.Join(err, w.mend())
}

func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, t := range texts {
		all[i] = t
	}
	return all
}

// isRefused reports whether nobody listens.
func isRefused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// serves returns nil if every server can be reached through its relay.
func (w *world) serves() error {
	return each(w.hosts, func(h *host) error {
		conn, err := w.target.Dial(background, "tcp", h.Addr())
		if err != nil {
			return err
		}
		defer conn.Close() //nolint:errcheck // nothing hangs on it
		if err := conn.SetDeadline(time.Now().Add(askTime)); err != nil {
			return err
		}
		if _, err := conn.Write([]byte("PING\r\n")); err != nil {
			return err
		}
		reply := make([]byte, len("+PONG"))
		n, err := conn.Read(reply)
		if err == nil && string(reply) != "+PONG" {
			err = fmt.Errorf("the answer begins with %q", reply[:n])
		}
		if err != nil {
			return fmt.Errorf("port %d through its relay: %w", h.Port(), err)
		}
		return nil
	})
}
