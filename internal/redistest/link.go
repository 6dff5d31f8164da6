package redistest

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"time"
)

// dialTimeout bounds the connection to a server that does not take one.
const dialTimeout = 2 * time.Second

// link is one connection through a [Relay]: two directions, each with a reader
// that takes all that comes and a writer that waits and delivers.
type link struct {
	relay  *Relay
	client *net.TCPConn
	done   chan struct{} // closed by cut

	up, down *queue[message] // to the server, to the client

	mu      sync.Mutex
	isCut   bool         // under mu
	server  *net.TCPConn // under mu until run has set it, then only read
	waiting []uint64     // under mu; commands sent to the server and not answered yet
	kept    *Kept        // under mu; keeps the last command; nil: nobody does
	keptAs  uint64       // under mu; the number of that command, once it is on its way
}

// message is a whole command or reply on its way.
type message struct {
	data   []byte
	due    time.Time // not to be delivered before
	number uint64    // of a command; 0: it has no reply of its own
	count  bool      // it is a command
	last   bool      // instead of a reply: the connection ends here
	kept   *Kept     // has kept the command, and takes its reply; else nil
}

func newLink(r *Relay, client *net.TCPConn) *link {
	return &link{
		relay: r, client: client, done: make(chan struct{}),
		up: newQueue[message](), down: newQueue[message](),
	}
}

// cut ends both directions at once. What was on its way is lost.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		return
	}
	l.isCut = true
	close(l.done)
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
}

// run serves the connection until both directions have come to their end.
func (l *link) run() {
	defer l.relay.forget(l)
	defer l.drop()
	defer l.cut()
	if !l.relay.await(l.done, reachable) || !l.dial() {
		return
	}
	var wg sync.WaitGroup
	wg.Go(l.readRequests)
	wg.Go(l.writeRequests)
	wg.Go(l.readReplies)
	wg.Go(l.writeReplies)
	wg.Wait()
}

func reachable(sw switches) bool { return !sw.blackhole }

func (l *link) dial() bool {
	conn, err := net.DialTimeout("tcp", l.relay.leadsTo(), dialTimeout)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		_ = conn.Close()
		return false
	}
	l.server = conn.(*net.TCPConn)
	return true
}

// readRequests takes commands from the client until it closes the connection.
func (l *link) readRequests() {
	defer l.up.close()
	r := bufio.NewReader(l.client)
	for {
		data, err := readFrame(r)
		if err != nil {
			// The server must not learn of it through a blackhole. The answer does
			// not matter: cut closes everything itself.
			_ = l.relay.await(l.done, reachable)
			return
		}
		if sw, _ := l.relay.switches(); sw.blackhole {
			continue
		}
		p := message{data: data}
		if words := decodeCommand(data); len(words) > 0 {
			words[0] = strings.ToUpper(words[0])
			p.count = true
			p.number = l.relay.announce(words)
			if answersByPush(words[0]) {
				p.number = 0
			}
			p.kept = l.relay.takeKept(words)
		}
		// Read again: the hook may have changed them, for this very command.
		sw, _ := l.relay.switches()
		if sw.blackhole {
			if p.kept != nil {
				p.kept.answer(nil) // it is lost
			}
			continue
		}
		if p.kept != nil && !l.keep(p.kept) {
			return
		}
		p.due = after(sw.delayRequests)
		l.up.put(p)
		if p.kept != nil {
			_ = l.relay.await(l.done, reachable)
			return // what was written behind it is never sent on, although some of it has been read
		}
	}
}

// answersByPush reports whether the reply to a command comes like a message, or
// not at all as one reply.
func answersByPush(name string) bool {
	return strings.HasSuffix(name, "SUBSCRIBE")
}

// writeRequests delivers commands. After the client's last one it tells the server that no more will come, and lets the
// server close. If this side closed with a reply unread it would reset the connection, and the server could lose
// commands that it has not read yet.
func (l *link) writeRequests() {
	for {
		p, ok := l.up.next(l.done)
		if !ok {
			_ = l.server.CloseWrite()
			return
		}
		if !l.sleepUntil(p.due) || !l.relay.await(l.done, func(sw switches) bool { return !sw.hold }) {
			return
		}
		if sw, _ := l.relay.switches(); sw.blackhole {
			continue
		}
		l.send(p)
	}
}

func (l *link) send(p message) {
	if p.count {
		l.relay.requests.Add(1)
	}
	if p.number > 0 {
		l.mu.Lock()
		l.waiting = append(l.waiting, p.number)
		if p.kept != nil {
			l.keptAs = p.number
		}
		l.mu.Unlock()
	}
	// If the server has gone readReplies sees it and ends the connection.
	_, _ = l.server.Write(p.data)
}

// readReplies takes replies from the server until it closes the connection, even after the client has gone.
func (l *link) readReplies() {
	defer l.down.close()
	r := bufio.NewReader(l.server)
	for {
		data, err := readFrame(r)
		if err != nil {
			_ = l.relay.await(l.done, reachable)
			return
		}
		number, kept, ok := l.answered(data)
		if kept != nil {
			kept.answer(data)
			return // nobody is there for what may follow
		}
		sw, _ := l.relay.switches()
		if sw.blackhole {
			continue
		}
		cut := ok && l.relay.takeCut(number)
		if cut || !sw.dropReplies {
			l.down.put(message{data: data, due: after(sw.delayReplies), last: cut})
		}
	}
}

// answered finds the command of a reply, and its Kept if it was kept: the server answers in order.
func (l *link) answered(reply []byte) (number uint64, kept *Kept, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isPush(reply) || len(l.waiting) == 0 {
		return 0, nil, false
	}
	number = l.waiting[0]
	l.waiting = l.waiting[1:]
	if number == l.keptAs {
		kept = l.kept
	}
	return number, kept, true
}

// writeReplies delivers replies; when no more will come it closes the connection
// to the client.
func (l *link) writeReplies() {
	defer l.client.Close() //nolint:errcheck // closed is closed
	for {
		p, ok := l.down.next(l.done)
		if !ok || !l.sleepUntil(p.due) || p.last {
			return
		}
		if sw, _ := l.relay.switches(); sw.dropReplies || sw.blackhole {
			continue
		}
		// A client that has gone misses its reply, which is nobody's loss.
		_, _ = l.client.Write(p.data)
	}
}

// after is the moment in d, none if d is 0.
func after(d time.Duration) time.Time {
	if d <= 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

// sleepUntil answers false when the connection is cut first.
func (l *link) sleepUntil(due time.Time) bool {
	if due.IsZero() {
		return true
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}
