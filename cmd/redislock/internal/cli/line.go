package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// arrange puts the command in front of the flags that were written before it, and refuses what people type who know other
// tools, if it would mean something else here. It says then what to type.
func arrange(root *cobra.Command, args []string) ([]string, error) {
	flags := flagsOf(root)
	end := len(args)
	if i := slices.Index(args, "--"); i >= 0 {
		end = i
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "__") { // of cobra's completion: the line of somebody who is still typing
		return args, nil
	}
	isCommand := func(word string) bool {
		c, _, _ := root.Find([]string{word})
		return c != root
	}
	command, known := -1, true // so far, the flags are
	for i := 0; i < end; i++ {
		switch arg := args[i]; {
		case len(arg) < 2 || arg[0] != '-':
			if command < 0 {
				command = i
			}
		case arg == "-h" && i+1 < end && !strings.HasPrefix(args[i+1], "-") && (command >= 0 || !isCommand(args[i+1])):
			return first(args, command), hostError(args[i+1:end], args[i+1])
		case (arg == "-p" || arg == "--port" || arg == "--host") && i+1 < end:
			return first(args, command), hostError(args[i:end], "")
		default:
			if err := oneDash(flags, arg); err != nil {
				return first(args, command), err
			}
			known = known && isKnown(flags, arg)
			if takesNext(flags, arg) {
				i++
			}
		}
	}
	if command >= 0 && known && !isCommand(args[command]) {
		return nil, unknown(root, args[command])
	}
	return first(args, command), nil
}

// first moves the word at an index to the front.
func first(args []string, at int) []string {
	if at <= 0 {
		return args
	}
	return append([]string{args[at]}, slices.Delete(slices.Clone(args), at, at+1)...)
}

// flagsOf are the flags of all commands: a name means the same everywhere.
func flagsOf(root *cobra.Command) *pflag.FlagSet {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if all.Lookup(f.Name) == nil {
				all.AddFlag(f)
			}
		})
	}
	return all
}

// oneDash refuses a long flag behind one dash, which would be read as many flags of one letter.
func oneDash(flags *pflag.FlagSet, arg string) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
	if len(name) > 1 && name[0] != '-' && isLong(flags, name) {
		return Usagef("-%s: a long flag has two dashes: --%s", name, name)
	}
	return nil
}

// isKnown reports whether a flag is one of some command.
func isKnown(flags *pflag.FlagSet, arg string) bool {
	name, long := strings.CutPrefix(arg, "--")
	name, _, _ = strings.Cut(name, "=")
	if !long {
		return arg == "-h" || flags.ShorthandLookup(arg[1:2]) != nil
	}
	return isLong(flags, name)
}

// isLong reports whether a word is the name of a flag. Every command has two that cobra makes.
func isLong(flags *pflag.FlagSet, name string) bool {
	return name == "help" || name == "version" || flags.Lookup(name) != nil
}

// takesNext reports whether the value of a flag is the argument behind it.
func takesNext(flags *pflag.FlagSet, arg string) bool {
	var f *pflag.Flag
	switch name := strings.TrimLeft(arg, "-"); {
	case strings.HasPrefix(arg, "--"):
		f = flags.Lookup(name) // nil if there is a value in the argument
	case len(name) > 0:
		f = flags.ShorthandLookup(name[len(name)-1:])
	}
	return f != nil && f.NoOptDefVal == ""
}

// hostError is for those who name a server as with redis-cli.
func hostError(args []string, host string) error {
	port := "6379"
	for i, arg := range args[:len(args)-1] {
		switch arg {
		case "-h", "--host":
			host = args[i+1]
		case "-p", "--port":
			port = args[i+1]
		}
	}
	return Usagef("-h is --help here, and there is no -p: the server is --redis redis://%s:%s", cmp.Or(host, "127.0.0.1"), port)
}
