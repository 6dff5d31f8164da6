// Command redislock uses, shows and tunes the locks of the library of the same name.
//
//	redislock run KEY... -- COMMAND    run a command under a lock
//	redislock ls [PATTERN]             who holds what, and who waits
//	redislock doctor                   what is wrong with a server
//	redislock help                     all the commands
//
// docs/tool.md is its documentation. The exit status is 0 if everything is well, 2 if the command line is wrong, 69 if
// Redis cannot be reached, 75 if a lock was not to be had; the others are listed there.
package main

import (
	"os"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/demo"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/doctor"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/free"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/look"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/run"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/tree"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/tune"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/watch"
)

// tool is the table of all commands, in the order in which they are listed.
func tool() *cli.Tool {
	return &cli.Tool{Name: "redislock", Summary: "use, show and tune locks in Redis", Locks: survey.Begin, Commands: []cli.Command{
		run.Command(),
		run.Supervisor(),
		look.List(),
		look.Show(),
		tree.Command(),
		watch.Command(),
		free.Break(),
		free.Wait(),
		tune.Command(),
		tune.Player(),
		doctor.Command(),
		demo.Command(),
		cli.VersionCommand(),
		cli.ManCommand(tool),
	}}
}

func main() { os.Exit(tool().Main()) }
