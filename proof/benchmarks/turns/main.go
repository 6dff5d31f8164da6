// Turns measures what it is worth that the Obtains of a Client wait in one process, beside the version before that, bsm/redislock,
// rueidislock and a mutex:
//
//	make turns                          # all parts, into docs/measurements.md and docs/charts/turns.svg
//	make turns TURNS="-parts 'polling'" # some of them; the page stays as it is
//
// Callers are goroutines of worker processes. Each version of the library is built into a worker of its own, and all of them share
// a server. The ways are measured in alternating blocks, and a ratio is that of two blocks of one round. What is counted is what
// happens in a block while all callers are there. Verdicts are those of make compare: see ../main.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/seed-14de3678/redislock/proof/internal/measure"
	"github.com/seed-14de3678/redislock/proof/internal/page"
	"github.com/seed-14de3678/redislock/proof/plant"
)

func main() { plant.Main("turns", run) }

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("turns", flag.ContinueOnError)
	root := flags.String("root", ".", "the `folder` of the repository")
	names := flags.String("parts", ".", "measure the parts whose names match this `regexp`")
	file := flags.String("page", "", "write the tables into this `file`, between their marks, if all parts are measured")
	picture := flags.String("chart", "", "draw the picture into this `file`, if all parts are measured")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	match, err := regexp.Compile(*names)
	if err != nil {
		return err
	}
	r := &report{blocks: blocks}
	r.average, _ = measure.Average()
	b, err := open(ctx, *root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if r.server, err = b.server.Version(ctx); err != nil {
		return err
	}
	measured, err := r.measure(ctx, b, match)
	if err != nil {
		return err
	}
	fmt.Println(r.all())
	for _, p := range r.parts() {
		fmt.Println(p.Text)
	}
	if measured < len(parts) {
		return nil
	}
	if *picture != "" {
		err = r.draw(*picture)
	}
	if *file != "" {
		err = errors.Join(err, page.Rewrite(*file, r.parts()))
	}
	return err
}

// measure measures the parts whose names match, and says how far it is.
func (r *report) measure(ctx context.Context, b *bench, match *regexp.Regexp) (measured int, err error) {
	for _, p := range parts {
		if !match.MatchString(p.name) {
			continue
		}
		began := time.Now()
		if err := p.measure(ctx, b, r); err != nil {
			return measured, fmt.Errorf("%s: %w", p.name, err)
		}
		measured++
		fmt.Fprintf(os.Stderr, "%-10s %3.0f s, load: %s\n", p.name, time.Since(began).Seconds(), r.load)
	}
	if measured == 0 {
		return 0, fmt.Errorf("no part matches %s", match)
	}
	return measured, nil
}
