// Weigh tells by how much a program grows with this library, and by what. It builds programs with go-redis alone, with
// bsm/redislock and with this library, for Linux, and compares what the linker has put into them:
//
//	go run ./weigh                        # the tables
//	go run ./weigh -page ../docs/measurements.md # and into the page
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"

	"github.com/seed-14de3678/redislock/proof/internal/page"
)

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "weigh:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("weigh", flag.ContinueOnError)
	file := flags.String("page", "", "write the tables into this page, between their marks")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weigh")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs, err := table(dir)
	if err != nil {
		return err
	}
	without, err := build(dir, "small", "-s -w")
	if err != nil {
		return err
	}
	with, err := build(dir, "smallredislock", "-s -w")
	if err != nil {
		return err
	}
	lua, err := luaSize()
	if err != nil {
		return err
	}
	made := []page.Part{
		{Name: "weight", Text: programs},
		{Name: "weight by part", Text: byPart(growth(without, with), lua)},
		{Name: "weight made", Text: "Made by `make weigh`, with " + runtime.Version() + ".\n"},
	}
	for _, p := range made {
		fmt.Println(p.Text)
	}
	if *file == "" {
		return nil
	}
	return page.Rewrite(*file, made)
}
