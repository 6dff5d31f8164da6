package wire

import (
	"bufio"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Nodes are servers in memory. They do every script and have one replica each, unless they are told what to
// say to a command.
type nodes struct {
	mu    sync.Mutex
	says  map[string]string   // by name and command, such as "one evalsha k" or "one wait"
	heard map[string][]string // the commands for keys and replicas, by name
	dials map[string]int
	open  map[string]int
	loads int   // how often the Cluster was asked for its slots
	fails error // what it says to that
}

func newNodes() *nodes {
	return &nodes{says: make(map[string]string), heard: make(map[string][]string), dials: make(map[string]int), open: make(map[string]int)}
}

// The addresses of the nodes are not looked up.
const one, two, three = "10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:3"

var names = map[string]string{one: "one", two: "two", three: "three"}

// dial connects with a node.
func (n *nodes) dial(_ context.Context, _, addr string) (net.Conn, error) {
	addr = names[addr]
	client, server := net.Pipe()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials[addr]++
	n.open[addr]++
	go func() {
		in := bufio.NewReader(server)
		for {
			words, err := readCommand(in)
			if err != nil {
				n.mu.Lock()
				defer n.mu.Unlock()
				n.open[addr]--
				_ = server.Close()
				return
			}
			_, _ = io.WriteString(server, n.answer(addr, words)+"\r\n")
		}
	}()
	return client, nil
}

// readCommand reads one command.
func readCommand(in *bufio.Reader) (words []string, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	count, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	for range count {
		if _, err = in.ReadString('\n'); err != nil {
			return nil, err
		}
		word, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		words = append(words, strings.TrimSpace(word))
	}
	return words, err
}

func (n *nodes) answer(addr string, words []string) string {
	var answer string
	what := words[0]
	switch what {
	case "evalsha", "eval":
		what, answer = what+" "+words[3], ":1"
	case "wait":
		answer = ":1"
	case "asking":
		answer = "+OK"
	default:
		return "-ERR unknown command"
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if words[0] == "wait" {
		n.heard[addr] = append(n.heard[addr], strings.Join(words, " "))
	} else {
		n.heard[addr] = append(n.heard[addr], what)
	}
	if says, ok := n.says[addr+" "+what]; ok {
		return says
	}
	return answer
}

// client, cluster and ring connect with the nodes. Key a belongs to node two of a Cluster, b to node one.
func (n *nodes) client(t *testing.T) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: one, Dialer: n.dial, ReadTimeout: 4 * time.Second, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func (n *nodes) cluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Dialer: n.dial, ReadTimeout: 4 * time.Second, ClusterSlots: n.slots})
	t.Cleanup(func() {
		_ = rdb.Close()
		time.Sleep(time.Second) // it rests behind each look at the slots
	})
	return rdb
}

func (n *nodes) slots(context.Context) ([]redis.ClusterSlot, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.loads++
	return []redis.ClusterSlot{
		{Start: 0, End: 8191, Nodes: []redis.ClusterNode{{Addr: one}}},
		{Start: 8192, End: 16383, Nodes: []redis.ClusterNode{{Addr: two}}},
	}, n.fails
}

func (n *nodes) ring(t *testing.T) *redis.Ring {
	t.Helper()
	rdb := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"shard": one}, Dialer: n.dial, ReadTimeout: 4 * time.Second, HeartbeatFrequency: 24 * time.Hour})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
