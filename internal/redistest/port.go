package redistest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// A cluster node also listens on its port + busOffset. With this range both are
// below the ports that the kernel gives to outgoing connections.
const (
	firstPort = 10000
	lastPort  = 22767
	busOffset = 10000
)

// ports are the ports that this process has given out. A UDP socket of the same number, which no server uses, keeps
// other test binaries away from them, even while a server is down or a relay refuses. Trying to bind detects other
// servers, but leaves a gap until the server binds. So a server may not get its port, and has to be started again with
// another one.
var ports struct {
	mu    sync.Mutex
	taken map[int]net.PacketConn // under mu; ports and bus ports
}

// takePort returns a loopback port that was free, together with its bus port,
// a moment ago. It stays reserved among test binaries until freePort.
func takePort() (int, error) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	const n = lastPort - firstPort + 1
	start := rand.IntN(n)
	for i := range n {
		port := firstPort + (start+i)%n
		if !reserveLocked(port) {
			continue
		}
		if reserveLocked(port + busOffset) {
			return port, nil
		}
		freeLocked(port)
	}
	return 0, errors.New("redistest: no free port between 10000 and 22767")
}

// reserveLocked reports whether a port was free, and is ours now.
func reserveLocked(port int) bool {
	if ports.taken[port] != nil {
		return false
	}
	conn, err := net.ListenPacket("udp", loopback(port))
	if err != nil {
		return false
	}
	if !bindable(port) {
		_ = conn.Close()
		return false
	}
	if ports.taken == nil {
		ports.taken = map[int]net.PacketConn{}
	}
	ports.taken[port] = conn
	return true
}

// freePort gives back what takePort reserved.
func freePort(port int) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	freeLocked(port)
	freeLocked(port + busOffset)
}

func freeLocked(port int) {
	if conn := ports.taken[port]; conn != nil {
		_ = conn.Close() // nobody sends to it
	}
	delete(ports.taken, port)
}

func bindable(port int) bool {
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
