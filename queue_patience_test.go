package redislock_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A puppet is a server in memory whose answers a test makes up: "" is none, for ever. It fits into a
// bubble. Nobody else asks meanwhile.
type puppet struct {
	script func(run check.Run) (reply string)
	// hears answers to who subscribes, on the n'th connection that does, from 1; nil: as a server does.
	hears func(n int, channel string) (reply string)

	mu    sync.Mutex
	conns []net.Conn // that have subscribed
	turns int
}

// turn puts scripts in an order: what one of them has written the next one sees.
func (p *puppet) turn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns++
}

// subscribes takes note of a connection that does so, and answers.
func (p *puppet) subscribes(conn net.Conn, channel string) string {
	p.mu.Lock()
	if !slices.Contains(p.conns, conn) {
		p.conns = append(p.conns, conn)
	}
	n := len(p.conns)
	p.mu.Unlock()
	if p.hears != nil {
		return p.hears(n, channel)
	}
	return subscribed(channel)
}

func subscribed(channel string) string {
	return fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n", len(channel), channel)
}

// published is a message on a channel.
func published(channel, text string) string {
	return fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(channel), channel, len(text), text)
}

// subscriptions is how many connections have subscribed.
func (p *puppet) subscriptions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// cut ends those that have subscribed.
func (p *puppet) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
}

func (p *puppet) client(t *testing.T, mods ...func(*redis.Options)) *redis.Client {
	t.Helper()
	opt := &redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, MaxRetries: -1,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go p.serve(far)
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

// serve answers one connection until its client closes it.
func (p *puppet) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		args, err := readArgs(in)
		if err != nil {
			return
		}
		reply := "+OK\r\n"
		switch strings.ToLower(args[0]) {
		case "hello":
			reply = "-ERR unknown command\r\n"
		case "subscribe":
			reply = p.subscribes(conn, args[1])
		case "evalsha", "eval":
			p.turn()
			reply = p.script(check.RunOf(args...))
			p.turn()
			if reply == "" {
				_, _ = io.Copy(io.Discard, in)
				return
			}
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// readArgs reads one command.
func readArgs(in *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number()
	args := make([]string, 0, max(n, 0))
	for range n {
		length, err := number()
		if err != nil {
			return nil, err
		}
		word := make([]byte, length+2)
		if _, err := io.ReadFull(in, word); err != nil {
			return nil, err
		}
		args = append(args, string(word[:length]))
	}
	return args, err
}

// standsInLine reports whether a script is that of a waiter.
func standsInLine(run check.Run) bool { return run.Of("rw") && run.Channel() != "" }

// asksFirst reports whether a script is that of one who does not stand in line yet, for one key.
func asksFirst(run check.Run) bool { return run.Of("obtain") }

// heldBySomebody is the answer to that.
const heldBySomebody = "*5\r\n:0\r\n:1\r\n$5\r\nwrite\r\n:60000\r\n$0\r\n\r\n"

// inPlace is the answer to a waiter that stands in line, at a microsecond of the server's clock.
func inPlace(micros int64, heard int) string {
	return fmt.Sprintf("*9\r\n:-2\r\n:1\r\n$5\r\nwrite\r\n:60000\r\n$0\r\n\r\n:7\r\n:%d\r\n:-1\r\n:%d\r\n", micros, heard)
}

// What is under way when ctx ends, and what is left behind then, share the 100 ms for which a queued
// Obtain may go on.
func TestQueueEndsInTime(t *testing.T) {
	t.Parallel()
	const most = 100 * time.Millisecond
	for _, test := range []struct {
		name  string
		takes time.Duration // the ask that is under way when ctx ends; negative: none is
	}{
		{"at once", 0}, {"late", 90 * time.Millisecond}, {"too late", 110 * time.Millisecond}, {"while it waits", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *world, _ *redistest.Mini, _ *journal) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var ended time.Time
				left := make(chan struct{}, 16)
				asked := 0
				client := redislock.New((&puppet{script: func(run check.Run) string {
					switch {
					case asksFirst(run):
						return heldBySomebody
					case !standsInLine(run):
						left <- struct{}{}
						return ""
					}
					if asked++; asked == 1 && test.takes >= 0 {
						ended = time.Now()
						cancel()
						time.Sleep(test.takes)
					}
					return inPlace(1, 1)
				}}).client(t))
				defer client.Close()
				if test.takes < 0 {
					time.AfterFunc(time.Second, func() {
						ended = time.Now()
						cancel()
					})
				}
				_, err := client.Obtain(ctx, []string{"k"}, time.Minute, queue())
				wantIs(t, err, context.Canceled)
				wantIs(t, err, context.Canceled)
				if took := time.Since(ended); took > most {
					t.Errorf("it went on for %v after its context had ended, want %v at most", took, most)
				}
				<-left // and clears up
			})
		})
	}
}
