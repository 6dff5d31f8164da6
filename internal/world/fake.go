package world

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A FakeServer is a server in memory that answers what a test says; "" is no answer, for ever. It can be in a
// bubble. Only one test uses it.
type FakeServer struct {
	// Script answers a run of a script.
	Script func(run check.Run) (reply string)
	// Subscribe answers a SUBSCRIBE, on the n'th connection that sends one, from 1; nil: as a server does.
	Subscribe func(n int, channel string) (reply string)
	// Wait is the answer to a WAIT; "": it is that no replica has confirmed anything.
	Wait string

	mu    sync.Mutex
	conns []net.Conn // that have subscribed
	turns int
}

// turn is called before and after each script: each script sees what the one before has written.
func (p *FakeServer) turn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns++
}

// subscribes notes that a connection has sent a SUBSCRIBE, and returns the answer.
func (p *FakeServer) subscribes(conn net.Conn, channel string) string {
	p.mu.Lock()
	if !slices.Contains(p.conns, conn) {
		p.conns = append(p.conns, conn)
	}
	n := len(p.conns)
	p.mu.Unlock()
	if p.Subscribe != nil {
		return p.Subscribe(n, channel)
	}
	return Subscribed(channel)
}

// Subscribed is the answer of a server to a SUBSCRIBE.
func Subscribed(channel string) string {
	return fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n", len(channel), channel)
}

// Published is a message, as a server sends it, on a channel.
func Published(channel, text string) string {
	return fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(channel), channel, len(text), text)
}

// Subscriptions returns how many connections have subscribed.
func (p *FakeServer) Subscriptions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// Cut ends the connections that have subscribed.
func (p *FakeServer) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
}

// Client returns a client of the server, closed when the test ends.
func (p *FakeServer) Client(t *testing.T, mods ...func(*redis.Options)) *redis.Client {
	t.Helper()
	opt := &redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, MaxRetries: -1,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go redistest.AnswerCommands(far, func(words []string) (string, bool) { return p.answers(far, words) })
			return near, nil
		},
	}
	for _, mod := range mods {
		mod(opt)
	}
	rdb := redis.NewClient(opt)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// answers is the answer to a command that comes over a connection.
func (p *FakeServer) answers(conn net.Conn, words []string) (reply string, answered bool) {
	switch words[0] {
	case "hello":
		return "-ERR unknown command\r\n", true
	case "wait":
		return cmp.Or(p.Wait, ":0\r\n"), true
	case "subscribe":
		return p.subscribes(conn, words[1]), true
	case "evalsha", "eval":
		p.turn()
		defer p.turn()
		reply = p.Script(check.RunOf(words...))
		return reply, reply != ""
	}
	return "+OK\r\n", true
}

// StandsInLine reports whether a waiter has sent the script.
func StandsInLine(run check.Run) bool { return run.Of("rw") && run.Channel() != "" }

// AsksFirst reports whether a caller has sent the script that asks for one key and does not stand in line yet.
func AsksFirst(run check.Run) bool { return run.Of("obtain") }

// HeldBySomebody is the answer to such a script if another caller holds the key.
const HeldBySomebody = "*5\r\n:0\r\n:1\r\n$5\r\nwrite\r\n:60000\r\n$0\r\n\r\n"

// InPlace is the answer to a waiter that stands in line: the time of the server's clock, and how many subscribe to the
// waiter's channel.
func InPlace(micros int64, subscribers int) string {
	return fmt.Sprintf("*9\r\n:-2\r\n:1\r\n$5\r\nwrite\r\n:60000\r\n$0\r\n\r\n:7\r\n:%d\r\n:-1\r\n:%d\r\n", micros, subscribers)
}
