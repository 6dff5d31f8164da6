// Package redislockgocron_test has a test for each thing that gocron says of a Locker and an Elector, with its real
// scheduler: most of them in virtual time, some with processes that are killed.
package redislockgocron_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, wantNoScheduler) }

// wantNoScheduler ends the program if goroutines of gocron outlive the tests, for which redistest does not look.
func wantNoScheduler() {
	stacks := make([]byte, 1<<20)
	for range 500 {
		n := runtime.Stack(stacks[:cap(stacks)], true)
		stacks = stacks[:n]
		if !strings.Contains(string(stacks), "go-co-op/gocron") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Fprintf(os.Stderr, "the tests leave behind:\n\n%s\n", stacks)
	os.Exit(1)
}
