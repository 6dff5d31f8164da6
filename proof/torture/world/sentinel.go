package world

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/random"
)

// sentinels are the servers of Sentinel.
type sentinels struct {
	*world
	group    *redistest.Sentinels
	watchers []*host
}

// watched starts a primary, two replicas, and three sentinels.
func (w *world) watched() {
	w.Helper()
	s := &sentinels{world: w, group: redistest.StartSentinels(w.reporter, w.kind, 2, 3, serverArgs()...)}
	for _, server := range s.group.Servers() {
		h := w.host(server, nil)
		h.replicated = true
		w.hosts = append(w.hosts, h)
	}
	for _, server := range s.group.Sentinels() {
		h := w.host(server, nil)
		s.watchers = append(s.watchers, h)
		w.target.Addrs = append(w.target.Addrs, h.Addr())
		// How servers are is asked every ten seconds by default, for which Heal would have to wait.
		if err := h.do("SENTINEL", "DEBUG", "info-period", 1000); err != nil {
			w.TB.Fatalf("world: %v", err)
		}
	}
	w.target.Master = redistest.PrimaryName
	if w.target.Replicas == all {
		w.target.Replicas = len(w.hosts) - 1
	}
	w.watchers = s.watchers
	w.serving = func() ([]*host, error) {
		h, err := s.primaryNow()
		return []*host{h}, err
	}
	w.settled = s.isSettled
	w.mend = s.rejoin
	w.own = s.faults
}

// primaryNow is whom the sentinels call so.
func (s *sentinels) primaryNow() (h *host, err error) {
	err = s.try(func() error {
		h = s.hostOf(s.group.Primary())
		return nil
	})
	return h, err
}

// hostOf finds a server among those that have locks.
func (w *world) hostOf(server *redistest.Server) *host {
	for _, h := range w.hosts {
		if h.Server == server {
			return h
		}
	}
	return nil
}

func (s *sentinels) isSettled() error {
	if err := s.group.Settled(); err != nil {
		return err
	}
	h, err := s.primaryNow()
	if err != nil {
		return err
	}
	return s.followed(h)
}

// rejoin makes servers replicas that the sentinels would make so some seconds later. It does nothing as long as the sentinels
// do not agree, or are about to replace a primary.
func (s *sentinels) rejoin() error {
	primary, err := s.primaryNow()
	if err != nil {
		return err
	}
	for _, watcher := range s.watchers {
		cmd := redis.NewMapStringStringCmd(background, "SENTINEL", "MASTER", redistest.PrimaryName)
		if err := watcher.admin.Process(background, cmd); err != nil {
			return err
		}
		if state := cmd.Val(); state["flags"] != "master" || state["port"] != portOf(primary) {
			return fmt.Errorf("the sentinel on port %d calls port %s %s", watcher.Port(), state["port"], state["flags"])
		}
	}
	if err := primary.isPrimary(); err != nil {
		return err
	}
	return each(s.others(primary), func(h *host) error { return h.follow(primary) })
}

// faults are those of Sentinel: see docs/choosing.md, "What a fail-over does".
func (s *sentinels) faults() []Nemesis {
	return []Nemesis{
		s.onServer("failover-planned", s.loses(), s.planned),
		s.onServer("failover-kill", s.loses(), s.killed),
		s.onServer("failover-stop", s.loses(), s.stopped),
		s.onServer("replica-stop", nil, s.replicaStop),
		s.onServer("replica-restart", nil, s.replicaBack),
		s.onServer("sentinels-away", nil, s.away),
	}
}

// planned asks a sentinel for a fail-over.
func (s *sentinels) planned(h *host, rng *rand.Rand, _ time.Duration) error {
	watcher := s.watchers[rng.IntN(len(s.watchers))]
	if err := s.until(func() error { return watcher.do("SENTINEL", "FAILOVER", redistest.PrimaryName) }); err != nil {
		return err
	}
	return s.awaitSuccessor(h)
}

// awaitSuccessor returns when another server is the primary, and remembers that this was meant.
func (s *sentinels) awaitSuccessor(former *host) error {
	err := s.try(func() error { s.group.AwaitSuccessor(former.Server); return nil })
	s.expect()
	return err
}

// killed loses whatever the primary had not replicated. It comes back with its data, as a primary, until a sentinel has told
// it what it is.
func (s *sentinels) killed(h *host, _ *rand.Rand, _ time.Duration) error {
	h.kill()
	err := s.awaitSuccessor(h)
	h.start()
	return err
}

// stopped has the primary wake up when it has a successor, and go on until a sentinel has told it what it is.
func (s *sentinels) stopped(h *host, rng *rand.Rand, d time.Duration) error {
	h.Pause()
	err := s.awaitSuccessor(h)
	time.Sleep(random.Between(rng, 0, d))
	h.Resume()
	return err
}

func (s *sentinels) replicaBack(primary *host, rng *rand.Rand, d time.Duration) error {
	h := s.others(primary)[rng.IntN(len(s.hosts)-1)]
	h.kill()
	time.Sleep(random.Between(rng, 0, min(d, shortStop)))
	h.start()
	return nil
}

// away has processes not reach the sentinels.
func (s *sentinels) away(_ *host, _ *rand.Rand, d time.Duration) error {
	defer calm(s.watchers)
	return forAll(s.watchers, d, func(h *host) {
		h.relay.Refuse(true)
		h.relay.Cut()
	})
}

// expect says that whoever has locks now has them by a fault.
func (w *world) expect() {
	hosts, err := w.serving()
	if err == nil {
		w.expected = portsOf(hosts)
	}
}

// errMany is an error of a topology that has lost parts of its keys.
var errMany = errors.New("not every part of the keys has a primary")
