package redistest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// leakPatience is how long goroutines and sockets may take to go after the last test.
const leakPatience = 5 * time.Second

// Main is what TestMain calls; it does not return. In a child from [StartRole] it
// plays the role. Otherwise it runs the tests, then the functions in after, stops
// the shared servers, and exits with what the tests said; or with 1 if they passed
// but goroutines of this module, of go-redis or of miniredis, or (on Linux) sockets,
// are still there a few seconds later, which it then lists.
//
// TMPDIR is a folder of this process's own, which is removed when the process
// ends, however it does. What go-redis logs is shown only if the run fails, and
// then at its end, where it is not taken for the words of one test.
func Main(m *testing.M, after ...func()) {
	mainRuns.Store(true)
	if name := os.Getenv(roleEnv); name != "" {
		os.Exit(playRole(name, os.Args[1:]))
	}
	os.Exit(run(m, after))
}

// atOnce is how many tests of a binary run at once, if -parallel does not say otherwise. Most of them wait most of the
// time, so there may be more of them than processors.
const atOnce = "8"

// runMore sets how many tests run at once.
func runMore() error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", atOnce)
}

// run returns the exit code.
func run(m *testing.M, after []func()) (code int) {
	if err := runMore(); err != nil {
		fmt.Fprintln(os.Stderr, "redistest:", err)
		return 1
	}
	scratch, err := takeScratch()
	if err != nil {
		fmt.Fprintln(os.Stderr, "redistest:", err)
		return 1
	}
	said := &logbook{}
	redis.SetLogger(said)
	sockets := OpenSockets()
	code = m.Run()
	for _, f := range after {
		f()
	}
	stopShared()
	if found := leaked(leakPatience, sockets); len(found) > 0 {
		fmt.Fprintf(os.Stderr, "redistest: the tests leave behind:\n\n%s\n", strings.Join(found, "\n\n"))
		code = max(code, 1)
	}
	if err := scratch.remove(); err != nil {
		fmt.Fprintf(os.Stderr, "redistest: remove %s: %v\n", scratch.dir, err)
		code = max(code, 1)
	}
	if code != 0 {
		fmt.Fprint(os.Stderr, said)
	}
	return code
}
