package run

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A teller writes to standard error, in the order in which it is told. Nobody waits for it, because nobody may read there:
// a pager that waits for a key, a terminal after Ctrl-S. The command is ended, and the lock released, all the same.
type teller struct {
	texts chan string
	done  chan struct{}
	once  sync.Once
	live  bool // it is a terminal, where it is said for whom the command has to wait
}

const (
	// mostUnread is how many texts wait for a reader. What comes then is left out.
	mostUnread = 64
	// lastWords is how long the end of a process waits for them to be read.
	lastWords = time.Second
)

func newTeller(w io.Writer) *teller {
	t := &teller{texts: make(chan string, mostUnread), done: make(chan struct{}), live: cli.NewScreen(w).Live}
	go func() {
		defer close(t.done)
		for text := range t.texts {
			cli.Say(w, "%s", text)
		}
	}()
	return t
}

func (t *teller) say(format string, args ...any) {
	select {
	case t.texts <- fmt.Sprintf(format, args...):
	default:
	}
}

// end waits until everything is written, but not long. Nothing is said after it.
func (t *teller) end() {
	t.once.Do(func() { close(t.texts) })
	select {
	case <-t.done:
	case <-time.After(lastWords):
	}
}
