package redistest

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Relay stands between clients and one server and spoils what passes. It speaks
// RESP, without TLS, and handles whole commands and whole replies.
//
// All methods are safe for concurrent use, at any moment, also from within the
// hook of [Relay.OnRequest]: a switch that the hook flips holds for the command it
// was called for, and for its reply. Switches are independent and can be on
// together. What a connection carries in one direction stays in order, whatever is
// delayed or held.
//
// The requests of a connection that were accepted still reach the server after the
// client has closed it, unless they are cut or fall into a blackhole.
type Relay struct {
	tb   testing.TB
	port int

	requests atomic.Int64
	wg       sync.WaitGroup // every goroutine of the relay

	mu       sync.Mutex
	target   string                           // under mu
	sw       switches                         // under mu; changed by flip
	flipped  chan struct{}                    // under mu; closed and replaced by flip
	hook     func(name string, args []string) // under mu
	keeps    []keeping                        // under mu; of Keep, not taken yet
	accepted uint64                           // under mu; number of the newest command
	listener net.Listener                     // under mu; nil while connections are refused
	links    map[*link]struct{}               // under mu; the open connections
	over     bool                             // under mu; the test has ended
}

// switches is what a test has asked of a Relay.
type switches struct {
	dropReplies   bool
	hold          bool
	blackhole     bool
	cutArmed      bool
	cutFrom       uint64 // number of the first command that may have its reply cut
	delayReplies  time.Duration
	delayRequests time.Duration
}

// NewRelay listens on a loopback port for the time of the test and passes every
// connection on to target, all switches off.
func NewRelay(tb testing.TB, target string) *Relay {
	tb.Helper()
	r := &Relay{tb: tb, target: target, flipped: make(chan struct{}), links: map[*link]struct{}{}}
	err := errPortTaken
	for i := 0; i < launchTries && err != nil; i++ {
		if r.port, err = takePort(); err != nil {
			break
		}
		if err = r.listen(); err != nil {
			freePort(r.port)
		}
	}
	if err != nil {
		tb.Fatalf("redistest: new relay: %v", err)
	}
	tb.Cleanup(r.close)
	return r
}

// Addr is where the relay listens, also while it refuses.
func (r *Relay) Addr() string { return loopback(r.port) }

// Client returns a client of the relay with go-redis's default options apart from
// the address, changed by mod, closed when the test ends.
func (r *Relay) Client(tb testing.TB, mod ...func(*redis.Options)) *redis.Client {
	tb.Helper()
	return newClient(tb, r.Addr(), mod)
}

// Requests is the number of commands sent on to the server since the start. Each command of a pipeline counts by
// itself, and so do the commands with which a client introduces itself. A command is counted before the server can
// answer it.
func (r *Relay) Requests() int { return int(r.requests.Load()) }

// OnRequest has fn called for each command before it is sent on: name in upper case, args as the client sent them. It
// is not called for commands that a blackhole swallows. The connection waits for fn, others do not: many goroutines may
// call fn at once. It must return before the test can end. nil: no hook.
func (r *Relay) OnRequest(fn func(name string, args []string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = fn
}

// DropReplies swallows whole replies while it is on. Connections stay open.
func (r *Relay) DropReplies(on bool) { r.flip(func(sw *switches) { sw.dropReplies = on }) }

// DelayReplies has every reply that arrives from now on wait for d; 0: no wait.
func (r *Relay) DelayReplies(d time.Duration) { r.flip(func(sw *switches) { sw.delayReplies = d }) }

// DelayRequests has every command accepted from now on wait for d; 0: no wait.
func (r *Relay) DelayRequests(d time.Duration) { r.flip(func(sw *switches) { sw.delayRequests = d }) }

// HoldRequests accepts commands but keeps them until [Relay.ReleaseRequests].
func (r *Relay) HoldRequests() { r.flip(func(sw *switches) { sw.hold = true }) }

// ReleaseRequests sends on what was held, and holds no more.
func (r *Relay) ReleaseRequests() { r.flip(func(sw *switches) { sw.hold = false }) }

// Blackhole swallows everything while it is on, in both directions: commands and
// replies are lost, neither side learns that the other has closed its connection,
// new connections are taken but lead nowhere until it is off.
func (r *Relay) Blackhole(on bool) { r.flip(func(sw *switches) { sw.blackhole = on }) }

// CutReplies swallows one reply and closes the connection that waits for it, so
// that its client sees the end of the connection after the server has executed the
// command. It is the reply to the newest command accepted so far on any
// connection, or, if that has been answered, to the next: called from the hook, to
// the command of the hook. What a subscriber receives is not a reply.
func (r *Relay) CutReplies() {
	r.flip(func(sw *switches) { sw.cutArmed, sw.cutFrom = true, r.accepted })
}

// flip changes the switches and wakes the goroutines that wait for a change.
func (r *Relay) flip(change func(*switches)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.sw)
	close(r.flipped)
	r.flipped = make(chan struct{})
}

// Cut closes all connections now. What they still carried, the command of the
// hook included, is lost. New connections are welcome.
func (r *Relay) Cut() {
	r.CutSome(func() bool { return true })
}

// CutSome does so with the connections for which choose returns true. It asks for each open connection, in no order.
func (r *Relay) CutSome(choose func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.links {
		if choose() {
			l.cut()
		}
	}
}

// Retarget has connections that are opened from now on lead to another server, as a
// proxy does after a fail-over. Open ones stay where they are.
func (r *Relay) Retarget(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
}

// leadsTo is where a new connection leads.
func (r *Relay) leadsTo() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.target
}

// Refuse has new connections refused while it is on, as by a port where nobody
// listens. Open ones stay. If the port cannot be had again the test fails, without
// ending.
func (r *Relay) Refuse(on bool) {
	if err := r.setRefuse(on); err != nil {
		r.tb.Helper()
		r.tb.Errorf("redistest: relay: listen again: %v", err)
	}
}

func (r *Relay) setRefuse(on bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case on && r.listener != nil:
		err := r.listener.Close()
		r.listener = nil
		r.awaitRefused()
		return err
	case !on && r.listener == nil && !r.over:
		return r.listenLocked()
	}
	return nil
}

// awaitRefused waits until nobody listens at the port any more. A process that is being started has the files of this
// one open until it executes its program. On a busy machine the port takes connections for as long.
func (r *Relay) awaitRefused() {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		conn, err := net.Dial("tcp", loopback(r.port))
		if err != nil {
			return
		}
		_ = conn.Close()
	}
}

func (r *Relay) listen() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listenLocked()
}

func (r *Relay) listenLocked() error {
	l, err := net.Listen("tcp", loopback(r.port))
	if err != nil {
		return fmt.Errorf("%w: %w", errPortTaken, err)
	}
	r.listener = l
	r.wg.Go(func() { r.accept(l) })
	return nil
}

// accept takes connections until l is closed.
func (r *Relay) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		r.open(conn.(*net.TCPConn), l)
	}
}

// open starts to serve a connection taken by l.
func (r *Relay) open(conn *net.TCPConn, l net.Listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != l {
		// It came in while Refuse closed the listener.
		_ = conn.Close()
		return
	}
	k := newLink(r, conn)
	r.links[k] = struct{}{}
	r.wg.Go(k.run)
}

// forget is the end of a link.
func (r *Relay) forget(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.links, l)
}

// close ends all connections and waits for all goroutines.
func (r *Relay) close() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.Refuse(true)
	r.Cut()
	r.wg.Wait()
	freePort(r.port)
}

// announce numbers a command that has come in and calls the hook for it.
func (r *Relay) announce(words []string) (number uint64) {
	r.mu.Lock()
	r.accepted++
	number, hook := r.accepted, r.hook
	r.mu.Unlock()
	if hook != nil {
		hook(words[0], words[1:])
	}
	return number
}

// switches returns the switches now, and a channel that is closed when they change.
func (r *Relay) switches() (switches, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sw, r.flipped
}

// await returns true when ok accepts the switches, false when done is closed.
func (r *Relay) await(done <-chan struct{}, ok func(switches) bool) bool {
	for {
		sw, flipped := r.switches()
		if ok(sw) {
			return true
		}
		select {
		case <-flipped:
		case <-done:
			return false
		}
	}
}

// takeCut reports whether the reply to this command is the one to be cut, and
// disarms the switch if so.
func (r *Relay) takeCut(number uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.sw.cutArmed || number < r.sw.cutFrom {
		return false
	}
	r.sw.cutArmed = false
	return true
}
