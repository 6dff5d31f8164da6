// Command waiting draws what BenchmarkWaiting measures: round trips per acquisition and hand-off time
// against the number of waiters, a line for each way of waiting.
//
//	go test -run '^$' -bench '^BenchmarkWaiting$' . | go run ./proof/waiting [-o file]
//
// It reads the text that go test prints and writes one SVG. Of several runs (-count) it draws the
// median; lines that are no results of this benchmark are ignored. The same input gives the same
// bytes. If there is nothing to draw, or something is missing, it writes nothing but an error, and
// the exit status is 1; it is 2 if the command line is wrong.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/seed-14de3678/redislock/internal/plot"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments. It returns the exit status.
func run(args []string, in io.Reader, out, diag io.Writer) int {
	flags := flag.NewFlagSet("waiting", flag.ContinueOnError)
	flags.SetOutput(diag)
	file := flags.String("o", "", "write to this `file` instead of standard output")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(diag, "waiting: unexpected %q: the input is read from standard input\n", flags.Arg(0))
		return 2
	}
	if err := draw(in, out, *file); err != nil {
		_, _ = fmt.Fprintln(diag, "waiting:", err)
		return 1
	}
	return 0
}

// draw touches neither out nor the file before the whole drawing is there: a bad input leaves the
// last good one as it was.
func draw(in io.Reader, out io.Writer, file string) error {
	all, err := parse(in)
	if err != nil {
		return err
	}
	drawing, err := plot.Draw(chart(all))
	if err != nil {
		return err
	}
	if file != "" {
		return os.WriteFile(file, drawing, 0o644)
	}
	_, err = out.Write(drawing)
	return err
}
