package locktest

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
)

// A network is the way from the code under test to the server.
type network struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu   sync.Mutex
	away bool
	open map[*link]struct{}
}

// A link is one connection of a network.
type link struct {
	net.Conn
	network *network
}

// Away makes the server unreachable until [Server.Back]: connections are cut, also those over which
// messages are heard, and nobody gets a new one. The server itself goes on: leases end, and locks of
// [Server.Hold] stay. A request that is under way may have been executed. A later request was not, and
// its error is a dial error.
//
// Redis is as far away for every Client of the Server, and for [Server.Redis]. At the end of the test
// the server is back.
func (s *Server) Away() {
	for _, l := range s.network.leave() {
		_ = l.Close()
	}
}

// Back ends what [Server.Away] has begun.
func (s *Server) Back() {
	s.network.mu.Lock()
	defer s.network.mu.Unlock()
	s.network.away = false
}

// leave returns the connections to be cut.
func (n *network) leave() []*link {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away = true
	return slices.Collect(maps.Keys(n.open))
}

// fault returns why nobody can be reached; nil if the server can.
func (n *network) fault() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away {
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return nil
}

// Dial makes a connection.
func (n *network) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := n.fault(); err != nil {
		return nil, err
	}
	conn, err := n.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: conn, network: n}
	n.mu.Lock()
	n.open[l] = struct{}{}
	n.mu.Unlock()
	if err := n.fault(); err != nil { // since
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// Close ends the connection.
func (l *link) Close() error {
	l.network.mu.Lock()
	delete(l.network.open, l)
	l.network.mu.Unlock()
	return l.Conn.Close()
}

// SyscallConn is what go-redis asks of an idle connection to find out whether it was cut.
func (l *link) SyscallConn() (syscall.RawConn, error) {
	l.network.mu.Lock()
	_, open := l.network.open[l]
	l.network.mu.Unlock()
	if !open {
		return nil, net.ErrClosed
	}
	if conn, ok := l.Conn.(syscall.Conn); ok {
		return conn.SyscallConn()
	}
	return nothing{}, nil
}

// nothing is to be read, as far as anybody can see.
type nothing struct{}

func (nothing) Control(func(uintptr)) error    { return nil }
func (nothing) Read(func(uintptr) bool) error  { return nil }
func (nothing) Write(func(uintptr) bool) error { return nil }
