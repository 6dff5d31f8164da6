// Report reads the output of one or more `go test -json` runs and writes what
// their user wants to read while they run:
//
//   - what failed, in full, and of the rest only go test's line per package;
//   - every ten seconds a line that says how far the run is, what runs, and
//     which tests have run for longer than a minute;
//   - at the end the tests that took longer than a minute, and one line for
//     each reason for which something was not run.
//
// Lines that are not JSON are passed on; one that starts with "not run:" also joins the list at the end.
//
// The end is one screen: what a page promises, what failed, and for each reason for which something was not run how to
// get what was lacking.
//
// With -promises test/promises.md this screen begins with each sentence that the page quotes, and whether all tests that
// the page names for it ran and passed. With -proof docs/proof.md,proof/evidence.md each test that these pages name for every run has to run,
// and of each module below the working directory some test. A test has not run either if it was skipped, or if all of its
// subtests were. With CI=true in the environment a test of the pages that did not run is a failure; otherwise the end says so.
//
// With -failures FILE what failed is added to that file as well, so that it can be shown where nothing else hides it.
//
// Its exit status is 1 if anything failed, if no test ran at all, or if the go command found no packages: where nothing is
// lacking but programs that this machine does not have, it is that of what ran.
//
// It needs nothing but the standard library and package page, so that it can be built with neither a network nor modules:
// in the workspace, because without that the go command would look for the other modules of the repository.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// every is the time between two lines of progress.
const every = 10 * time.Second

func main() {
	page := flag.String("proof", "", "the pages whose tests have to run, of all modules, with commas: docs/proof.md,proof/evidence.md")
	promises := flag.String("promises", "", "the page whose sentences the end names: test/promises.md")
	failures := flag.String("failures", "", "the file that what failed is added to as well")
	flag.Parse()
	good, err := run(*page, *promises, *failures)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
	}
	if !good || err != nil {
		os.Exit(1)
	}
}

func run(page, promises, failures string) (good bool, err error) {
	wanted, err := readWanted(page, promises, os.Getenv("CI") == "true")
	if err != nil {
		return false, err
	}
	r, err := summarize(os.Stdin, os.Stdout, wanted)
	if failures != "" {
		err = errors.Join(err, r.addFailures(failures))
	}
	return r.good(), err
}

// summarize reads in to its end.
func summarize(in io.Reader, out io.Writer, wanted *wanted) (*report, error) {
	r := newReport(out, wanted, time.Now())
	lines, failed := linesOf(in)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				r.end()
				return r, <-failed
			}
			r.line(line, time.Now())
		case now := <-ticker.C:
			r.progress(now)
		}
	}
}

// linesOf reads in line by line. After the last line, lines is closed, and
// failed has what ended the reading, nil if it was the end of in.
func linesOf(in io.Reader) (lines <-chan string, failed <-chan error) {
	out, failure := make(chan string), make(chan error, 1)
	go func() {
		defer close(out)
		reader := bufio.NewReader(in)
		for {
			line, err := reader.ReadString('\n')
			if line != "" {
				out <- line
			}
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				failure <- err
				return
			}
		}
	}()
	return out, failure
}
