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
			isOne, takesNext, err := readFlag(flags, arg)
			if err != nil {
				return first(args, command), err
			}
			known = known && isOne
			if takesNext {
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

// readFlag reports whether a flag is one of some command, and whether its value is the argument behind it. A long flag behind
// one dash, which would be read as many flags of one letter, is an error.
func readFlag(flags *pflag.FlagSet, arg string) (known, takesNext bool, err error) {
	name, _, hasValue := strings.Cut(arg[1:], "=")
	long, isLong := strings.CutPrefix(name, "-")
	f := flags.Lookup(long)
	known = f != nil || long == "help" || long == "version" // every command has two that cobra makes
	switch {
	case isLong:
	case known && len(name) > 1:
		return false, false, Usagef("-%s: a long flag has two dashes: --%s", name, name)
	default:
		known, f = arg == "-h" || flags.ShorthandLookup(arg[1:2]) != nil, flags.ShorthandLookup(name[max(len(name)-1, 0):])
	}
	return known, f != nil && !hasValue && f.NoOptDefVal == "", nil
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
