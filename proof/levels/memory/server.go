// Package memory is a server inside of the process: it hears once what a real server answers, and then gives the same answers
// without a network. So nearly all processor time is that of the client.
//
// An answer belongs to a shape: the command, its script, the number of its keys and of its arguments. What is measured asks
// the same again and again and leaves nothing behind, so that one shape has one answer. A script that does the work of many callers at
// once replies with one element for each of them; from two such replies follows that to any number of callers.
package memory

import (
	"bytes"
	"context"
	"maps"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
)

// A Server answers as the one behind it has done. It is safe for concurrent use.
type Server struct {
	addr    string
	hears   atomic.Bool // the answers are those of the real server, and are remembered
	yields  atomic.Bool
	mu      sync.Mutex // held while something is learned
	learned atomic.Pointer[knowledge]
}

// A knowledge is what was heard. It does not change: who learns makes another one.
type knowledge struct {
	answers map[shape][]byte
	rules   map[string]rule
}

// A shape is what the answer to a command depends on.
type shape struct {
	name       string // of the command, with the name of its script
	keys, args int
}

// A rule says how a script replies to many callers.
type rule struct {
	args    int    // for each of them
	element string // of the reply, for each of them
	broken  bool   // it has also replied otherwise
}

// New makes a server that answers as the one at addr does.
func New(addr string) *Server {
	s := &Server{addr: addr}
	s.learned.Store(&knowledge{map[shape][]byte{}, map[string]rule{}})
	return s
}

// Hear has the real server answer while do runs, and remembers what it says. Nothing else may be under way.
func (s *Server) Hear(do func() error) error {
	s.hears.Store(true)
	defer s.hears.Store(false)
	return do()
}

// Yield says whether other goroutines run before an answer is read, as they do while a network carries it.
func (s *Server) Yield(yields bool) { s.yields.Store(yields) }

// Dial is the Dialer of a Redis client.
func (s *Server) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	behind, err := new(net.Dialer).DialContext(ctx, network, s.addr)
	if err != nil {
		return nil, err
	}
	return newConn(s, behind), nil
}

// learn remembers an answer, if it is none that goes with the connection and no error.
func (s *Server) learn(of shape, answer []byte) {
	if answer[0] == '-' {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.learned.Load()
	k := &knowledge{maps.Clone(old.answers), maps.Clone(old.rules)}
	k.answers[of] = bytes.Clone(answer)
	if r, ok := ruleOf(of, answer); ok {
		if before, known := k.rules[of.name]; known && before != r {
			r.broken = true
		}
		k.rules[of.name] = r
	}
	s.learned.Store(k)
}

// ruleOf finds the rule of a reply that has the same element for each of several callers.
func ruleOf(of shape, answer []byte) (r rule, ok bool) {
	if answer[0] != '*' {
		return r, false
	}
	n, head, ok := number(answer[1:])
	body := answer[1+head:]
	if !ok || n < 2 || len(body)%n != 0 || of.args%n != 0 {
		return rule{broken: true}, true
	}
	element := body[:len(body)/n]
	if !bytes.Equal(bytes.Repeat(element, n), body) {
		return rule{broken: true}, true
	}
	return rule{args: of.args / n, element: string(element)}, true
}

// answer appends the answer to a command, and reports whether it is known. It allocates nothing.
func (s *Server) answer(to, name []byte, keys, args int) ([]byte, bool) {
	k := s.learned.Load()
	if answer, ok := k.answers[shape{string(name), keys, args}]; ok {
		return append(to, answer...), true
	}
	r, ok := k.rules[string(name)]
	if !ok || r.broken || args%r.args != 0 {
		return to, false
	}
	n := args / r.args
	to = append(strconv.AppendInt(append(to, '*'), int64(n), 10), "\r\n"...)
	for range n {
		to = append(to, r.element...)
	}
	return to, true
}
