package redislock

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// A matrixRequest is one run of a script on its way to the server.
type matrixRequest struct {
	script string   // its name
	keys   []string // all that the script is given
	tokens []string // one, but of a batch
	words  []string // the whole command
}

// matrixScripts are the scripts of this package by the name under which servers keep them.
var matrixScripts = sync.OnceValue(func() map[string]*script {
	known := make(map[string]*script)
	for _, s := range []*script{
		batchScript, convertScript, inspectScript, obtainScript, pttlScript,
		raiseScript, refreshScript, releaseScript, rwScript,
	} {
		known[s.SHA()] = s
	}
	return known
})

// parseMatrixRequest returns nil for what runs no script. All scripts are known to the server, so each
// run is an EVALSHA that is written at once.
func parseMatrixRequest(data []byte) *matrixRequest {
	lines := strings.Split(string(data), "\r\n")
	if len(lines) < 7 || !strings.EqualFold(lines[2], "evalsha") {
		return nil
	}
	var words []string
	for i := 2; i < len(lines); i += 2 {
		words = append(words, lines[i])
	}
	s := matrixScripts()[words[1]]
	if s == nil {
		panic("the matrix does not know a script: " + words[1])
	}
	n, _ := strconv.Atoi(words[2])
	r := &matrixRequest{script: s.Name(), keys: words[3 : 3+n], words: words}
	values := words[3+n : min(4+n, len(words))]
	if s == batchScript {
		values = nil
		for i := 4 + n; i < len(words); i += 3 {
			values = append(values, words[i])
		}
	}
	for _, value := range values {
		token, _ := decodeValue(value)
		r.tokens = append(r.tokens, token)
	}
	return r
}

// A matrixFate is what becomes of a request.
type matrixFate int

const (
	matrixPass    matrixFate = iota
	matrixKeep               // it is the stray: it is kept, and its connection ends
	matrixHang               // the same, but the connection ends when it has landed, or before if the cell says so
	matrixLose               // it never comes to the server, and its connection ends
	matrixMute               // it is executed, and its connection ends without an answer
	matrixBefore             // the stray lands, then it passes
	matrixBetween            // it is executed, then the stray lands, then it is answered
)

// A matrixWire is all that lies between the clients of a cell and the server.
type matrixWire struct {
	dial func() (net.Conn, error)
	// keep has a relay keep the request that is written next; nil: the wire does it by itself.
	keep func(words []string) (deliver func() []byte)
	rule func(*matrixRequest) matrixFate // with mu held
	note func(format string, args ...any)
	// hangUp ends the connection of the stray.
	hangUp func()
	// around is called before the landing, without an answer, and after it.
	around func(answer string)

	mu      sync.Mutex
	stray   *matrixRequest  // nil: none is kept
	bytes   []byte          // what it is
	deliver func() []byte   // has the relay that keeps it deliver it
	hangs   chan struct{}   // closed when it has ended
	over    bool            // so it has
	closed  map[string]bool // the keys of requests that were answered since, and have one in common with it
	seen    map[string]int  // how many requests of each script were answered
	gate    chan struct{}   // if not nil requests of others wait for it
	invalid string          // why the cell means nothing
}

func newMatrixWire(dial func() (net.Conn, error)) *matrixWire {
	hangs := make(chan struct{})
	return &matrixWire{
		dial: dial, hangs: hangs, hangUp: sync.OnceFunc(func() { close(hangs) }), seen: make(map[string]int), closed: make(map[string]bool),
		rule:   func(*matrixRequest) matrixFate { return matrixPass },
		note:   func(string, ...any) {},
		around: func(string) {},
	}
}

// follow has the rule decide from now on.
func (w *matrixWire) follow(rule func(*matrixRequest) matrixFate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rule = rule
}

// Dial is a dialer of a Redis client.
func (w *matrixWire) Dial(context.Context, string, string) (net.Conn, error) {
	conn, err := w.dial()
	return &matrixConn{Conn: conn, wire: w}, err
}

// isKept reports whether there is a stray, and whether it has landed.
func (w *matrixWire) isKept() (kept, landed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stray != nil, w.over
}

// answeredOf is how many requests of a script were answered.
func (w *matrixWire) answeredOf(script string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[script]
}

// land has the stray executed, once.
func (w *matrixWire) land() {
	w.mu.Lock()
	data := w.bytes
	if w.stray == nil || w.over {
		w.mu.Unlock()
		return
	}
	w.over = true
	w.mu.Unlock()
	w.around("")
	reply := w.executes(data)
	w.note("the stray lands: %s", reply)
	w.around(reply)
	w.hangUp()
}

// executes has the stray executed, and returns the answer.
func (w *matrixWire) executes(data []byte) string {
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
	reply := matrixReply(answer)
	if reply == "" || strings.HasPrefix(reply, "-") {
		return w.void("the stray was not executed: " + reply)
	}
	return reply
}

// void says that the cell means nothing.
func (w *matrixWire) void(why string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.invalid = why
	return why
}

// matrixOvertaken is the answer to a request that has done nothing because it came late.
const matrixOvertaken = ":-3"

func matrixReply(data []byte) string {
	return strings.ReplaceAll(strings.TrimSpace(string(data[:min(len(data), 80)])), "\r\n", " ")
}

// decide takes in a request and says what becomes of it.
func (w *matrixWire) decide(r *matrixRequest, data []byte) matrixFate {
	w.mu.Lock()
	defer w.mu.Unlock()
	fate := w.rule(r)
	if fate == matrixKeep || fate == matrixHang {
		w.stray, w.bytes = r, bytes.Clone(data)
		if w.keep != nil {
			w.deliver = w.keep(r.words)
		}
	}
	if fate != matrixPass {
		w.note("%s %v: %s", r.script, r.keys[:min(len(r.keys), 3)], [...]string{
			"", "kept", "kept, its connection hangs", "lost", "executed, not answered",
			"the stray goes before it", "the stray goes before its answer",
		}[fate])
	}
	return fate
}

// gateOf is what a request has to wait for; nil if it has not.
func (w *matrixWire) gateOf(r *matrixRequest) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.isOfOthers() {
		return nil
	}
	return w.gate
}

// heard takes in an answer.
func (w *matrixWire) heard(r *matrixRequest, reply []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := matrixReply(reply)
	w.note("%s %v: %s", r.script, r.keys[:min(len(r.keys), 3)], text)
	if strings.HasPrefix(text, "-") || text == matrixOvertaken {
		return // nothing was done
	}
	w.seen[r.script]++
	if w.stray != nil && !r.isOfOthers() && haveCommon(r.tokens, w.stray.tokens) && r.shares(w.stray) {
		for _, key := range r.keys {
			w.closed[key] = true
		}
	}
}

// shares reports whether two requests have a lock key in common.
func (r *matrixRequest) shares(other *matrixRequest) bool {
	for _, key := range r.keys {
		for _, theirs := range other.keys {
			if key == theirs && !strings.HasPrefix(key, "redislock:") {
				return true
			}
		}
	}
	return false
}

// A matrixConn is a connection of a client of the cell.
type matrixConn struct {
	net.Conn
	wire *matrixWire

	mu      sync.Mutex
	waiting *matrixRequest  // for its answer
	fate    matrixFate      // of that
	end     <-chan struct{} // if not nil nothing comes any more, and when this is closed that is seen
}

var matrixEnded = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (c *matrixConn) Write(p []byte) (int, error) {
	r := parseMatrixRequest(p)
	if r == nil {
		return c.Conn.Write(p)
	}
	if gate := c.wire.gateOf(r); gate != nil {
		<-gate
	}
	fate := c.wire.decide(r, p)
	c.mu.Lock()
	switch fate {
	case matrixKeep, matrixLose:
		c.end = matrixEnded()
	case matrixHang:
		c.end = c.wire.hangs
	default:
		c.waiting, c.fate = r, fate
	}
	c.mu.Unlock()
	switch fate {
	case matrixKeep, matrixHang:
		if c.wire.keep != nil {
			return c.Conn.Write(p)
		}
		return len(p), nil
	case matrixLose:
		return len(p), nil
	case matrixBefore:
		c.wire.land()
	}
	return c.Conn.Write(p)
}

func (c *matrixConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	end, r, fate := c.end, c.waiting, c.fate
	c.waiting = nil
	c.mu.Unlock()
	if end != nil {
		<-end
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p)
	if r == nil || err != nil {
		return n, err
	}
	switch fate {
	case matrixMute:
		return 0, io.EOF
	case matrixBetween:
		c.wire.land()
	}
	c.wire.heard(r, p[:n])
	return n, nil
}
