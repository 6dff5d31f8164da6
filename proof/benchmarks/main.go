// Command benchmarks measures what locks cost as something grows: readers, keys, waiters, callers.
// Beside this library stand others where they do the same work: bsm/redislock, redsync,
// rueidislock, and what one writes with go-redis alone.
//
//	make compare                             # all rows, the charts in docs/charts and the tables of docs/costs.md
//	make compare COMPARE="-rows 'free|sets'"  # some of the rows, and the charts that show them
//	cd benchmarks && go run . -json >all.json
//
// It starts its own servers on free ports of the loopback. The sides of a row are measured in
// alternating blocks, so that all of them see the same load. A figure is the median of the blocks, with
// their quartiles. A figure that has a limit gets a verdict: "holds", "does not hold", or "no conclusion" with the
// reason, if the machine was too busy for what the figure rests on, or the blocks are too far apart.
// Counts of commands do not depend on the machine; processor time depends on it a little, and time by
// the clock much.
//
// internal/measure counts and judges, internal/peers has the libraries, and internal/rows has what is
// measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/rows"
	"github.com/seed-14de3678/redislock/proof/internal/page"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// An order is what the command line asks for.
type order struct {
	rows     *regexp.Regexp
	length   time.Duration
	charts   string
	page     string
	json     bool
	markdown bool
}

// run is main with its surroundings as arguments. It returns the exit status: 2 if the command line
// is wrong, 1 if something could not be measured. A limit that does not hold is no failure.
func run(ctx context.Context, args []string, out, diag io.Writer) int {
	o, err := read(args, diag)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	if err := o.run(ctx, out, diag); err != nil {
		_, _ = fmt.Fprintln(diag, "benchmarks:", err)
		return 1
	}
	return 0
}

// read reads the command line. It tells what is wrong by itself.
func read(args []string, diag io.Writer) (o order, err error) {
	flags := flag.NewFlagSet("benchmarks", flag.ContinueOnError)
	flags.SetOutput(diag)
	names := flags.String("rows", ".", "measure the rows whose names match this `regexp`")
	flags.DurationVar(&o.length, "for", 2*time.Second, "measure each side of a row for so long; some rows take the time they need")
	flags.StringVar(&o.charts, "o", "", "draw the charts into this `folder`")
	flags.StringVar(&o.page, "page", "", "write the tables into this `file`, between its marks, if all rows are measured")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	if err := flags.Parse(args); err != nil {
		return order{}, err
	}
	if o.rows, err = regexp.Compile(*names); err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected %q", flags.Arg(0))
	}
	if err == nil && len(o.chosen()) == 0 {
		err = fmt.Errorf("no row matches %s", *names)
	}
	if err != nil {
		_, _ = fmt.Fprintln(diag, "benchmarks:", err)
	}
	return o, err
}

// chosen are the rows that are asked for.
func (o order) chosen() []rows.Row {
	var chosen []rows.Row
	for _, row := range rows.All {
		if o.rows.MatchString(row.Name) {
			chosen = append(chosen, row)
		}
	}
	return chosen
}

// run measures, and prints when everything is measured.
func (o order) run(ctx context.Context, out, diag io.Writer) error {
	all, err := measureAll(ctx, o.chosen(), o.length, diag)
	if err != nil {
		return err
	}
	if err := o.print(all, out); err != nil {
		return err
	}
	if o.charts != "" {
		if err := drawAll(all, o.charts); err != nil {
			return err
		}
	}
	switch {
	case o.page == "":
		return nil
	case len(all.Rows) < len(rows.All):
		_, _ = fmt.Fprintf(diag, "benchmarks: %s stays as it is: not all rows were measured\n", o.page)
		return nil
	default:
		return page.Rewrite(o.page, all.parts())
	}
}

func (o order) print(all comparison, out io.Writer) error {
	switch {
	case o.json:
		return all.json(out)
	case o.markdown:
		return all.markdown(out)
	default:
		return all.text(out)
	}
}
