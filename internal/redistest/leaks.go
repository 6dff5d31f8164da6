package redistest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// watched are the packages with goroutines that must end with the tests. This one is among them: its servers, relays
// and children belong to tests too.
var watched = []string{
	"github.com/seed-14de3678/redislock",
	"github.com/redis/go-redis/",
	"github.com/alicebob/miniredis/",
}

// leaked describes what the tests have left behind when patience is over: the
// stacks of watched goroutines, other than the caller's, and sockets beyond the
// number that were open before. It returns nothing as soon as there is nothing.
func leaked(patience time.Duration, before int) []string {
	deadline := time.Now().Add(patience)
	for {
		found := watchedStacks()
		if more := OpenSockets() - before; more > 0 {
			found = append(found, fmt.Sprintf("sockets that are open and were not before the tests: %d: is a go-redis client not closed?", more))
		}
		if len(found) == 0 || time.Now().After(deadline) {
			return found
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// OpenSockets counts the sockets of this process, which is how an idle pool of
// go-redis shows: no goroutine belongs to it. Without /proc it answers 0. What the
// garbage collector has closed for a careless test is not seen.
func OpenSockets() int {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	n := 0
	for _, fd := range fds {
		target, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}

// watchedStacks are the stacks of all watched goroutines but the caller's.
func watchedStacks() []string {
	all := strings.Split(allStacks(), "\n\n")
	var found []string
	for _, stack := range all[1:] { // the first is the caller's
		if isWatched(stack) {
			found = append(found, strings.TrimSpace(stack))
		}
	}
	return found
}

// isWatched looks at the functions of a stack, the creator included. The lines
// between them name files, where a checkout's path may say anything.
func isWatched(stack string) bool {
	for line := range strings.Lines(stack) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		for _, pkg := range watched {
			if strings.Contains(line, pkg) {
				return true
			}
		}
	}
	return false
}

func allStacks() string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return string(buf[:n])
		}
		buf = make([]byte, 2*len(buf))
	}
}
