package memory

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"
)

// A conn is a connection to a Server. What is written is answered before Write returns.
type conn struct {
	net.Conn // to the real server
	server   *Server
	replies  *bufio.Reader // of the real server
	name     []byte        // of the latest command, used again

	mu     sync.Mutex
	filled sync.Cond // signalled when there is something to read, or the connection is closed
	begun  []byte    // a command whose end is still to come
	out    []byte    // answers
	read   int       // how much of them was read
	closed bool
}

func newConn(s *Server, behind net.Conn) *conn {
	c := &conn{Conn: behind, server: s, replies: bufio.NewReader(behind)}
	c.filled.L = &c.mu
	return c
}

// Write takes commands, and prepares their answers.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if c.read == len(c.out) {
		c.out, c.read = c.out[:0], 0
	}
	text := p
	if len(c.begun) > 0 {
		c.begun = append(c.begun, p...)
		text = c.begun
	}
	for len(text) > 0 {
		cmd, n, err := parse(text)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		if err := c.do(cmd, text[:n]); err != nil {
			return 0, err
		}
		text = text[n:]
	}
	c.begun = append(c.begun[:0], text...)
	c.filled.Signal()
	return len(p), nil
}

// do answers one command.
func (c *conn) do(cmd command, text []byte) error {
	c.name = append(append(c.name[:0], cmd.name...), cmd.script...)
	if !cmd.repeats() {
		return c.ask(text)
	}
	if c.server.hears.Load() {
		from := len(c.out)
		err := c.ask(text)
		if err == nil {
			c.server.learn(shape{string(c.name), cmd.keys, cmd.args}, c.out[from:])
		}
		return err
	}
	var known bool
	if c.out, known = c.server.answer(c.out, c.name, cmd.keys, cmd.args); !known {
		c.out = fmt.Appendf(c.out, "-ERR not heard before: %s with %d keys and %d arguments\r\n", c.name, cmd.keys, cmd.args)
	}
	return nil
}

// ask has the real server answer.
func (c *conn) ask(text []byte) (err error) {
	if _, err = c.Conn.Write(text); err == nil {
		c.out, err = appendReply(c.out, c.replies)
	}
	return err
}

// Read returns answers, and waits if there are none.
func (c *conn) Read(p []byte) (int, error) {
	if c.server.yields.Load() {
		runtime.Gosched()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.read == len(c.out) && !c.closed {
		c.filled.Wait()
	}
	if c.closed {
		return 0, net.ErrClosed
	}
	n := copy(p, c.out[c.read:])
	c.read += n
	return n, nil
}

// Close ends the connection, and that to the real server.
func (c *conn) Close() error {
	err := c.Conn.Close() // first: a Write may be waiting for it
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.filled.Broadcast()
	return err
}

// SetDeadline and the two below do nothing, because nothing lasts.
func (c *conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

var _ net.Conn = (*conn)(nil)

// A command is what has to be known of one.
type command struct {
	name, script []byte
	keys, args   int
}

// repeats reports whether it is a command that is measured; others go to the real server, such as those that greet it.
func (c command) repeats() bool {
	return len(c.script) > 0 || bytes.EqualFold(c.name, []byte("set"))
}
