package cli

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// ManCommand is redislock man, which writes the manual pages of this tool.
func ManCommand(tool func() *Tool) Command {
	return Command{
		Name:    "man",
		Args:    "[COMMAND]",
		Summary: "write the manual page of the tool or of a command, for man(1)",
		Examples: []Example{
			{Line: "redislock man | man -l -", About: "read it"},
			{Line: "redislock man run | man -l -", About: "read about one command"},
		},
		Define: func(*pflag.FlagSet) Action {
			return func(_ context.Context, to Streams, args []string) error {
				root := tool().Root(to)
				page, err := topicOf(root, args)
				if err != nil {
					return err
				}
				root.DisableAutoGenTag = true
				built := builtAt(buildInfo())
				return doc.GenMan(page, &doc.GenManHeader{Section: "1", Source: root.Name(), Manual: "redislock", Date: &built}, to.Out)
			}
		},
	}
}

// builtAt is when the commit was made, so that the same sources make the same page; now, if that is not known.
func builtAt(info *debug.BuildInfo) time.Time {
	for _, s := range info.Settings {
		if at, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
			return at
		}
	}
	return time.Now()
}

// statuses are the exit statuses.
var statuses = []struct {
	status int
	about  string
}{
	{0, "everything is well"},
	{Failed, "the answer is no, or something is wrong that has no other status"},
	{Usage, "the command line is wrong"},
	{NoLock, "a key is foreign: it holds something that is no lock"},
	{Unavailable, "Redis cannot be reached, or cannot be used now"},
	{NotObtained, "a lock was not to be had, or a key did not become free in time"},
	{Refused, "Redis refuses this user"},
	{Lost, "a lock was lost while it was used"},
	{CannotRun, "the command of run cannot be started"},
	{NotFound, "the command of run was not found"},
	{Interrupted, "it was interrupted"},
	{ClosedPipe, "nobody reads its output any more"},
}

// variables are those of the environment that count where no flag says something else.
var variables = []struct{ name, about string }{
	{RedisVariable, "the url of the server"},
	{redisURL, "the same, where that is not set; not for demo and tune"},
	{authVariable, "the password, if the url has none, as with redis-cli"},
	{PrefixVariable, "what every lock key begins with, as --prefix"},
	{"NO_COLOR", "if it is not empty nothing is coloured"},
}

// overview is the description of the whole tool.
func overview(summary string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nExit status:\n", capital(summary))
	for _, s := range statuses {
		fmt.Fprintf(&b, "  %-4d %s\n", s.status, s.about)
	}
	b.WriteString("\nEnvironment:\n")
	for _, v := range variables {
		fmt.Fprintf(&b, "  %-16s %s\n", v.name, v.about)
	}
	return b.String()
}
