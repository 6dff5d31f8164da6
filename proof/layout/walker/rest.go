package main

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// library is in the stack of each goroutine that the library is at work on, or has begun.
const library = "github.com/seed-14de3678/redislock"

// working is the first line of the stack of a goroutine that does something or is about to.
var working = regexp.MustCompile(`^goroutine \d+ \[(running|runnable|syscall|preempted|copystack)\b`)

// rest waits until every goroutine of the library waits for something, apart from the caller's.
func rest(ctx context.Context) error {
	for isAtWork() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the library does not come to rest: %w", ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

func isAtWork() bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for i, stack := range strings.Split(string(stacks), "\n\n") {
		if i > 0 && working.MatchString(stack) && strings.Contains(stack, library) {
			return true
		}
	}
	return false
}
