// Report reads the output of one or more `go test -json` runs and writes what
// their user wants to read while they run:
//
//   - what failed, in full, and of the rest only go test's line per package;
//   - every ten seconds a line that says how far the run is, what runs, and
//     which tests have run for longer than a minute;
//   - at the end the tests that took longer than a minute, and one line for
//     each reason for which something was not run.
//
// Lines that are not JSON are passed on; one that starts with "not run:" also
// joins the list at the end.
//
// With -proof docs/proof.md each test that this page names for every run has to run. With CI=true in the
// environment one that did not, or was skipped, or all of whose subtests were, is a failure; otherwise it
// joins the list. And of each module below the working directory some test has to run.
//
// Its exit status is 1 if anything failed or if no test ran at all.
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
	page := flag.String("proof", "", "the page whose tests have to run: docs/proof.md")
	flag.Parse()
	wanted, err := readWanted(*page, os.Getenv("CI") == "true")
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	r, err := summarize(os.Stdin, os.Stdout, wanted)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	if !r.good() {
		os.Exit(1)
	}
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
