// Layout measures the structure of the library's core, so that it can be judged whether a restructuring has made it simpler.
//
//	make layout                  # one table: each figure beside its target
//	make layout LIST=1           # in front of it, the functions that each walk enters, by file
//	go run ./proof/layout -list  # the same
//
// A walk is one act with the library on a real server. The walker is built with counters in every package of the core, which are
// cleared right before the act and read right after it: so its functions and files are those that the act has entered. A function
// literal belongs to the function around it. Each walk is done three times, and what was entered each time counts, so that what
// chance adds does not.
//
//   - free key: Obtain and Release of one key, by a Client that has done so before.
//   - mixed set in line: ObtainSet with keys to write and to read and with Options.Queue, until it returns. Another process has the
//     keys, and releases them when it sees the waiter in both lines.
//   - reply of a Release lost: the server has executed the Release, the connection ends in place of the reply, and the library asks
//     again. The walk is over when Release returns. Then there is nothing left to clean up.
//   - renewal finds the loss: the key of a lock with a watchdog is deleted. The walk is over when the context of the lock has ended
//     and nothing of the library is at work any more.
//
// All other figures are read. The core is the root package and what it needs of its module. A line counts if it has code on it.
// One root file needs another if it uses a name, a field or a method that is declared there. A knot is a set of files that all
// need one another, by whatever way. Arrows that run back up are the needs that have to be cut so that no knot is left, as few as
// a search finds; floors are the longest way down by the needs that are left then. A struct of the module that another one has
// by value counts as its fields.
//
// The test holds each figure to its limit in limits.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/seed-14de3678/redislock/proof/plant"
)

func main() { plant.Main("layout", run) }

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("layout", flag.ContinueOnError)
	root := flags.String("root", ".", "the `folder` of the repository")
	lists := flags.Bool("list", false, "name the functions that each walk enters")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	t, err := readTree(ctx, *root)
	if err != nil {
		return err
	}
	found, err := t.structure(ctx)
	if err != nil {
		return err
	}
	routes, err := t.walk(ctx)
	if err != nil {
		return err
	}
	addTo(found, routes)
	text, err := table(found)
	if *lists {
		fmt.Print(list(routes))
	}
	fmt.Print(text)
	return err
}
