package run

import (
	"bytes"
	"encoding/json"
	"os"
	"time"
)

// What redislock and its supervisor tell each other.
const (
	// From redislock: the end of the lease, at once and after each renewal; a signal for the command; the lock is lost.
	sayDeadline = "deadline"
	saySignal   = "signal"
	sayLost     = "lost"
	// From the supervisor: the command was started, or could not be; it was stopped, as Ctrl-Z does it; it gets SIGTERM,
	// because the end of the lease is near; it has ended; its group is gone.
	sayStarted = "started"
	sayFailed  = "failed"
	sayStopped = "stopped"
	sayLate    = "late"
	sayEnded   = "ended"
	sayGone    = "gone"
)

// A message is one line of JSON.
type message struct {
	Say      string
	Deadline time.Duration `json:",omitempty"` // by the clock that all processes share
	Left     time.Duration `json:",omitempty"` // until then
	Signal   int           `json:",omitempty"` // to be sent, or that has stopped or killed the command
	Group    int           `json:",omitempty"` // the process group of the command
	Status   int           `json:",omitempty"` // the exit status of the command
	Text     string        `json:",omitempty"` // why it could not be started
	Terminal bool          `json:",omitempty"` // the command had the terminal when it ended
}

// A link is one end of the pipes between redislock and its supervisor. It belongs to one goroutine.
type link struct {
	out   *os.File
	heard chan struct{}                   // has a value when something new may have come
	read  func() (text []byte, gone bool) // reads all there is, and reports whether the other end is gone
	text  []byte                          // was read, and is not taken yet
}

// linkPatience is how long the other side may take to read what is written; it is no time at all, unless it is stopped.
const linkPatience = 5 * time.Second

func newLink(in, out *os.File) *link {
	l := &link{out: out, heard: make(chan struct{}, 1)}
	l.read = reader(in, func() {
		select {
		case l.heard <- struct{}{}:
		default:
		}
	})
	return l
}

// next returns the next message, without waiting for one. If there is none it says whether the other end is gone.
func (l *link) next() (m message, ok, gone bool) {
	text, gone := l.read()
	l.text = append(l.text, text...)
	line, rest, ok := bytes.Cut(l.text, []byte{'\n'})
	if !ok {
		return m, false, gone
	}
	l.text = rest
	err := json.Unmarshal(line, &m) // nobody else writes to the pipe
	return m, err == nil, err != nil
}

// send writes a message. An error says that the other side is gone, or does not listen.
func (l *link) send(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_ = l.out.SetWriteDeadline(time.Now().Add(linkPatience)) // where the system can do that
	_, err = l.out.Write(append(line, '\n'))
	return err
}
