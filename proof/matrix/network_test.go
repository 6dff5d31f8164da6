package matrix_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/seed-14de3678/redislock/internal/check"
)

// A request is one run of a script on its way to the server.
type request struct {
	script string   // its name
	keys   []string // all that the script is given
	tokens []string // one, but of a batch
	words  []string // the whole command
	gives  bool     // its keys to the next owner
}

// parseRequest returns nil for what runs no script. All scripts are known to the server, so each
// run is an EVALSHA that is written at once.
func parseRequest(data []byte) *request {
	lines := strings.Split(string(data), "\r\n")
	if len(lines) < 7 || !strings.EqualFold(lines[2], "evalsha") {
		return nil
	}
	var words []string
	for i := 2; i < len(lines); i += 2 {
		words = append(words, lines[i])
	}
	run := check.RunOf(words...)
	if run.Script == "" {
		panic("the matrix does not know a script: " + words[1])
	}
	r := &request{script: run.Script, keys: run.Keys, words: words, gives: run.Next != nil}
	values := []string{run.Value}
	if run.Of("batch") {
		values = nil
		for _, plain := range run.Batch {
			values = append(values, plain.Value)
		}
	}
	for _, value := range values {
		if token, _, _ := strings.Cut(value, "|"); token != "" {
			r.tokens = append(r.tokens, token)
		}
	}
	return r
}

// A fate is what becomes of a request.
type fate int

const (
	fatePass    fate = iota
	fateKeep         // it is to be late: it is kept, and its connection ends
	fateHang         // the same, but the connection ends when it has arrived, or before if the cell says so
	fateLose         // it never comes to the server, and its connection ends
	fateMute         // it is executed, and its connection ends without an answer
	fateBefore       // the late request arrives, then it passes
	fateBetween      // it is executed, then the late request arrives, then it is answered
)

// A network is all that lies between the clients of a cell and the server.
type network struct {
	dial func() (net.Conn, error)
	// keep has a relay keep the request that is written next; nil: the network does it by itself.
	keep func(words []string) (deliver func() []byte)
	rule func(*request) fate // with mu held
	note func(format string, args ...any)
	// hangUp ends the connection of the late request.
	hangUp func()
	// around is called before the late request is executed, without an answer, and after it.
	around func(answer string)

	mu sync.Mutex
	lateRequest
	closed  map[string]bool // the keys of requests that were answered since, and have one in common with it
	seen    map[string]int  // how many requests of each script were answered
	flying  int             // how many requests were written and are not answered
	written int             // how many were written
	gate    chan struct{}   // if not nil requests of others wait for it
	invalid string          // why the cell means nothing
}

// A lateRequest is the request that is kept, to be executed late. The mutex of the network guards it.
type lateRequest struct {
	late    *request      // nil: none is kept
	bytes   []byte        // what was to be written
	deliver func() []byte // has the relay that keeps it deliver it
	hangs   chan struct{} // closed when its connection is to end
	over    bool          // it was executed
}

func newNetwork(dial func() (net.Conn, error)) *network {
	hangs := make(chan struct{})
	return &network{
		dial: dial, lateRequest: lateRequest{hangs: hangs}, hangUp: sync.OnceFunc(func() { close(hangs) }), seen: make(map[string]int), closed: make(map[string]bool),
		rule:   func(*request) fate { return fatePass },
		note:   func(string, ...any) {},
		around: func(string) {},
	}
}

// follow has the rule decide from now on.
func (w *network) follow(rule func(*request) fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rule = rule
}

// Dial is a dialer of a Redis client.
func (w *network) Dial(context.Context, string, string) (net.Conn, error) {
	conn, err := w.dial()
	return &connection{Conn: conn, network: w}, err
}

// isKept reports whether there is a late request, and whether it has arrived.
func (w *network) isKept() (kept, arrived bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.late != nil, w.over
}

// answeredOf is how many requests of a script were answered.
func (w *network) answeredOf(script string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[script]
}

// arrive has the late request executed, once.
func (w *network) arrive() {
	w.mu.Lock()
	data := w.bytes
	if w.late == nil || w.over {
		w.mu.Unlock()
		return
	}
	w.over = true
	w.mu.Unlock()
	w.around("")
	reply := w.executes(data)
	w.note("the late request arrives: %s", reply)
	w.around(reply)
	w.hangUp()
}

// executes has the late request executed, and returns the answer.
func (w *network) executes(data []byte) string {
	answer := make([]byte, 1<<16)
	if w.deliver != nil {
		answer = w.deliver()
	} else {
		conn, err := w.dial()
		if err != nil {
			return w.void(err.Error())
		}
		defer conn.Close()
		if _, err = conn.Write(data); err != nil {
			return w.void(err.Error())
		}
		n, err := conn.Read(answer)
		if err != nil {
			return w.void(err.Error())
		}
		answer = answer[:n]
	}
	reply := replyText(answer)
	if reply == "" || strings.HasPrefix(reply, "-") {
		return w.void("the late request was not executed: " + reply)
	}
	return reply
}

// void notes why the run means nothing.
func (w *network) void(why string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.invalid = why
	return why
}

// overtaken is the answer to a request that has done nothing because it came late.
const overtaken = ":-3"

func replyText(data []byte) string {
	return strings.ReplaceAll(strings.TrimSpace(string(data[:min(len(data), 80)])), "\r\n", " ")
}

// decide takes in a request and says what becomes of it.
func (w *network) decide(r *request, data []byte) fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	fate := w.rule(r)
	if fate == fateKeep || fate == fateHang {
		w.late, w.bytes = r, bytes.Clone(data)
		if w.keep != nil {
			w.deliver = w.keep(r.words)
		}
	}
	if fate != fatePass {
		w.note("%s %v: %s", r.script, r.keys[:min(len(r.keys), 3)], [...]string{
			"", "kept", "kept, its connection hangs", "lost", "executed, not answered",
			"the late request goes before it", "the late request goes before its answer",
		}[fate])
	}
	return fate
}

// gateOf is what a request has to wait for; nil if it has not.
func (w *network) gateOf(r *request) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.isOfOthers() {
		return nil
	}
	return w.gate
}

// flies takes in that a request is written, which is executed from then on until it has landed.
func (w *network) flies() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written++
	w.flying++
}

// landed takes in that a request is over, answered or not.
func (w *network) landed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flying--
}

// traffic is how many requests were written, and whether some are not over.
func (w *network) traffic() (written int, busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written, w.flying > 0
}

// answered takes in an answer.
func (w *network) answered(r *request, reply []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := replyText(reply)
	w.note("%s %v: %s", r.script, r.keys[:min(len(r.keys), 3)], text)
	if strings.HasPrefix(text, "-") || text == overtaken {
		return // nothing was done
	}
	w.seen[r.script]++
	if w.late != nil && !r.isOfOthers() && common(r.tokens, w.late.tokens) && r.shares(w.late) {
		for _, key := range r.keys {
			w.closed[key] = true
		}
	}
}

// common reports whether two lists have something in common.
func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(each string) bool { return slices.Contains(b, each) })
}

// shares reports whether two requests have a lock key in common.
func (r *request) shares(other *request) bool {
	for _, key := range r.keys {
		for _, theirs := range other.keys {
			if key == theirs && !strings.HasPrefix(key, "redislock:") {
				return true
			}
		}
	}
	return false
}

// A connection is a connection of a client of the cell.
type connection struct {
	net.Conn
	network *network

	mu      sync.Mutex
	waiting *request        // for its answer
	fate    fate            // of that
	end     <-chan struct{} // if not nil nothing comes any more, and when this is closed that is seen
}

var endedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (c *connection) Write(p []byte) (int, error) {
	r := parseRequest(p)
	if r == nil {
		return c.Conn.Write(p)
	}
	if gate := c.network.gateOf(r); gate != nil {
		<-gate
	}
	fate := c.network.decide(r, p)
	c.mu.Lock()
	switch fate {
	case fateKeep, fateLose:
		c.end = endedChannel()
	case fateHang:
		c.end = c.network.hangs
	default:
		c.waiting, c.fate = r, fate
	}
	c.mu.Unlock()
	switch fate {
	case fateKeep, fateHang:
		if c.network.keep != nil {
			return c.Conn.Write(p)
		}
		return len(p), nil
	case fateLose:
		return len(p), nil
	case fateBefore:
		c.network.arrive()
	}
	c.network.flies()
	return c.Conn.Write(p)
}

func (c *connection) Read(p []byte) (int, error) {
	c.mu.Lock()
	end, r, fate := c.end, c.waiting, c.fate
	c.waiting = nil
	c.mu.Unlock()
	if end != nil {
		<-end
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p)
	if r != nil {
		c.network.landed()
	}
	if r == nil || err != nil {
		return n, err
	}
	switch fate {
	case fateMute:
		return 0, io.EOF
	case fateBetween:
		c.network.arrive()
	}
	c.network.answered(r, p[:n])
	return n, nil
}
