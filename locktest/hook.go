package locktest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// A refusal is an error of a server.
type refusal string

// Error returns what the server says.
func (r refusal) Error() string { return string(r) }

// RedisError marks the error as one of a server.
func (r refusal) RedisError() {}

// errFlushAll says why a command is not sent.
var errFlushAll error = refusal("NOPERM locktest: FLUSHALL empties the databases of others: use FLUSHDB")

// A passage says what happens to commands on their way.
type passage struct {
	sent  []redis.Cmder
	cut   map[redis.Cmder]*Fault // some of these
	delay time.Duration
}

// pass sends commands that the code under test sends together, unless a fault keeps them.
func (s *Server) pass(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
	// Asked for a connection, go-redis would dial five times, and log each.
	if err := s.network.fault(); err != nil {
		return err
	}
	p := s.passage(cmds)
	if len(p.sent) == 0 || s.keep(p.sent, p.delay) {
		return nil
	}
	err := send(p.sent)
	for cmd, f := range p.cut {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			f.miss() // it was not executed: the Client sends the script itself
			continue
		}
		cmd.SetErr(io.EOF)
	}
	return err
}

// passage takes note of the keys of commands, and finds the faults that happen to them.
func (s *Server) passage(cmds []redis.Cmder) *passage {
	p := &passage{cut: make(map[redis.Cmder]*Fault)}
	for _, cmd := range cmds {
		if s.shared && cmd.Name() == "flushall" {
			cmd.SetErr(errFlushAll)
			continue
		}
		run := check.RunIn(cmd)
		s.note(run)
		f := s.meet(run)
		if f != nil && (f.kind == refuses || f.kind == drops) {
			err := io.EOF
			if f.kind == refuses {
				err = f.answer
			}
			cmd.SetErr(err)
			continue
		}
		p.sent = append(p.sent, cmd)
		switch {
		case f == nil:
		case f.kind == delays:
			p.delay = max(p.delay, f.delay)
		default:
			p.cut[cmd] = f
		}
	}
	return p
}

// keep keeps commands back for some time. It reports whether the Redis client has given up by then:
// then they are executed late.
func (s *Server) keep(cmds []redis.Cmder, delay time.Duration) bool {
	most := s.rdb.Options().ReadTimeout
	if most <= 0 || delay < most {
		if delay > 0 {
			s.sleep(delay)
		}
		return false
	}
	late := make([][]any, len(cmds))
	for i, cmd := range cmds {
		late[i] = copied(cmd.Args())
	}
	s.background.Go(func() {
		if !s.sleep(delay) {
			return
		}
		for _, args := range late {
			s.direct.Do(context.Background(), args...)
		}
	})
	s.sleep(most)
	for _, cmd := range cmds {
		cmd.SetErr(&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded})
	}
	return true
}

// copied is a command that does not change any more. A script goes with its source, because nobody would send
// the source later if the server does not know it.
func copied(args []any) []any {
	words := make([]any, len(args))
	for i, arg := range args {
		if text, ok := arg.(*string); ok {
			arg = *text
		}
		words[i] = arg
	}
	if len(words) > 1 && words[0] == "evalsha" {
		if script := decode.Sent(fmt.Sprint(words[1])); script != nil {
			words[0], words[1] = "eval", script.Source()
		}
	}
	return words
}

// sleep returns false if the test has ended before.
func (s *Server) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ending:
		return false
	}
}

// besides are how the names beside a key begin.
var besides = [...]string{"redislock:line", "redislock:intent", "redislock:fence"}

// note takes note of the keys that a script is given.
func (s *Server) note(run check.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range run.Keys {
		if !isBeside(key) {
			s.keys[key] = struct{}{}
		}
	}
}

func isBeside(name string) bool {
	for _, beginning := range besides {
		rest, ok := strings.CutPrefix(name, beginning)
		if ok && rest != "" && strings.ContainsAny(rest[:1], ":=~") {
			return true
		}
	}
	return false
}
