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

// ports are the ports this process has given out. Other processes are told
// apart by trying to bind, which leaves a gap until the server binds: who starts
// a server has to be ready for losing that race.
var ports struct {
	mu    sync.Mutex
	taken map[int]bool // under mu; ports and bus ports
}

// takePort returns a loopback port that was free, together with its bus port,
// a moment ago. It stays reserved within this process until freePort.
func takePort() (int, error) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	if ports.taken == nil {
		ports.taken = map[int]bool{}
	}
	const n = lastPort - firstPort + 1
	start := rand.IntN(n)
	for i := range n {
		port := firstPort + (start+i)%n
		bus := port + busOffset
		if ports.taken[port] || ports.taken[bus] || !bindable(port) || !bindable(bus) {
			continue
		}
		ports.taken[port], ports.taken[bus] = true, true
		return port, nil
	}
	return 0, errors.New("redistest: no free port between 10000 and 22767")
}

// freePort gives back what takePort reserved.
func freePort(port int) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	delete(ports.taken, port)
	delete(ports.taken, port+busOffset)
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
