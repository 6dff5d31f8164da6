package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// readyTimeout bounds the wait for a new server's first answer. It takes
// milliseconds, unless the machine is overloaded.
const readyTimeout = 20 * time.Second

// awaitReady returns nil when proc answers on the port of s and goes by the clock
// that s has, if any, and an error when it has ended or stays silent.
func (s *Server) awaitReady(proc *child) error {
	err := Until(readyTimeout, func() error {
		select {
		case <-proc.gone:
			return hopeless{s.causeOfDeath()}
		default:
			return s.probe(proc.pid())
		}
	})
	if err == nil && s.clock != nil {
		err = s.clock.obeyedBy(proc.pid())
	}
	return err
}

// causeOfDeath says whether another process has taken the port.
func (s *Server) causeOfDeath() error {
	log := s.readLog()
	for _, sign := range []string{"Address already in use", "Failed listening on port"} {
		if bytes.Contains(log, []byte(sign)) {
			return errPortTaken
		}
	}
	return errors.New("the process ended")
}

// probe asks whether the process with this id answers commands. An answer of the port is not enough: it could come from
// a server of another test binary, while ours is about to find its port taken.
func (s *Server) probe(pid int) error {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing hangs on it
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n")); err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	pong, err := readFrame(r)
	if err != nil {
		return err
	}
	info, err := readFrame(r)
	if err != nil {
		return err
	}
	return s.judge(pong, info, pid)
}

// judge reads the replies to PING and INFO.
func (s *Server) judge(pong, info []byte, pid int) error {
	if bytes.HasPrefix(pong, []byte("-LOADING")) {
		return fmt.Errorf("answers %q", pong)
	}
	// A server that answers both with an error may want a password: it is up. Its own log then has to prove that it is
	// ours.
	ours := bytes.Contains(info, fmt.Appendf(nil, "\r\nprocess_id:%d\r\n", pid))
	if !ours && bytes.HasPrefix(info, []byte("-")) {
		ours = bytes.Contains(s.readLog(), []byte("Ready to accept connections"))
	}
	if !ours {
		return fmt.Errorf("something else answers: %.200q", info)
	}
	return nil
}

// logName is the log of the present run. Each run has its own.
func (s *Server) logName() string {
	return filepath.Join(s.dir, fmt.Sprintf("log-%d", s.runs))
}

// readLog returns what there is of the present run's log.
func (s *Server) readLog() []byte {
	log, err := os.ReadFile(s.logName())
	if err != nil {
		return []byte(err.Error())
	}
	return log
}

// tail is the end of a log, enough to see why a server gave up.
func tail(log []byte) []byte {
	const keep = 2000
	return log[max(0, len(log)-keep):]
}
