package redistest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// logSize is how many messages a logbook keeps.
const logSize = 100

// A logbook keeps the last messages of go-redis. By itself go-redis writes them to stderr, where they look like the
// output of the test that runs just then. The zero value is empty and ready for use. It is safe for concurrent use.
type logbook struct {
	mu       sync.Mutex
	messages []string // under mu; the last ones, the oldest first
	dropped  int      // under mu; how many came before them
}

// Printf is what go-redis calls.
func (l *logbook) Printf(_ context.Context, format string, args ...any) {
	message := time.Now().Format("15:04:05.000 ") + fmt.Sprintf(format, args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.messages) == logSize {
		l.messages = l.messages[1:]
		l.dropped++
	}
	l.messages = append(l.messages, message)
}

// String has the kept messages, a line for each; it is empty if there are none.
func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.messages) == 0 {
		return ""
	}
	return fmt.Sprintf("what go-redis said last, after %d other messages:\n%s\n", l.dropped, strings.Join(l.messages, "\n"))
}
