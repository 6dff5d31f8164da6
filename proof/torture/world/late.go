package world

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/random"
)

// deliverTime is how long the execution of late commands may take, unless the server is gone.
const deliverTime = 10 * time.Second

// mostKept is how many commands one strike keeps back of a server.
const mostKept = 40

// lateCommands are the commands that were kept back of one server, and have not been delivered.
type lateCommands struct {
	mu    sync.Mutex
	armed bool              // under mu; the next script is to be kept
	next  *redistest.Kept   // under mu; what the relay has been asked for and has not kept yet; nil: nothing
	kept  []*redistest.Kept // under mu
}

// keepNext asks the relay for the next script.
func (l *lateCommands) keepNext(r *redistest.Relay) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = true
	if l.next == nil {
		l.next = r.Keep(l.take)
	}
}

// take decides about one command.
func (l *lateCommands) take(name string, _ []string) bool {
	if !isScript(name) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.armed || l.next == nil {
		return false // the strike is over, or the first command came before Keep has returned
	}
	l.armed = false
	l.kept = append(l.kept, l.next)
	l.next = nil
	return true
}

// disarm has no more commands kept.
func (l *lateCommands) disarm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
}

// some takes those that are to be delivered now.
func (l *lateCommands) some(want func() bool) []*redistest.Kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	var now, later []*redistest.Kept
	for _, k := range l.kept {
		if want() {
			now = append(now, k)
		} else {
			later = append(later, k)
		}
	}
	l.kept = later
	return now
}

// lateDelivery keeps single requests back, and delivers them at some later time. Some are left for [World.Heal].
func (w *world) lateDelivery(hosts []*host, rng *rand.Rand, d time.Duration) error {
	kept := 0
	err := during(d, random.Between(rng, 10*time.Millisecond, 150*time.Millisecond), func() error {
		return each(hosts, func(h *host) error {
			if kept++; kept <= mostKept*len(hosts) {
				h.late.keepNext(h.relay)
			}
			h.deliver(func() bool { return rng.IntN(10) == 0 })
			return nil
		})
	})
	for _, h := range hosts {
		h.late.disarm()
		h.deliver(func() bool { return rng.IntN(4) > 0 })
	}
	return err
}

// deliver sends those on that want chooses, each over the connection that it was written to. It waits for their execution,
// but not for ever: then all connections are cut, and what was not delivered is lost.
func (h *host) deliver(want func() bool) {
	chosen := h.late.some(want)
	var wg sync.WaitGroup
	for _, k := range chosen {
		wg.Go(func() { k.Deliver() })
	}
	over := make(chan struct{})
	go func() {
		wg.Wait()
		close(over)
	}()
	for {
		select {
		case <-over:
			return
		case <-time.After(deliverTime):
			h.relay.Cut()
		}
	}
}
