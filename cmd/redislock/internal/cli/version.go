package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker of `make dist`, which builds the tool and the library from one checkout. Otherwise the go
// command has noted the versions of both modules in the program.
var version string

const (
	libraryPath = "github.com/seed-14de3678/redislock"
	goRedisPath = "github.com/redis/go-redis/v9"
)

// VersionCommand is redislock version.
func VersionCommand() Command {
	return Command{
		Name:     "version",
		Summary:  "show the versions of the tool, of the library, of Go and of go-redis",
		Examples: []Example{{Line: "redislock version", About: "what to name when you report an error"}},
		Define:   func(*flag.FlagSet) Action { return showVersion },
	}
}

func showVersion(_ context.Context, to Streams, args []string) error {
	if err := NoArguments(args); err != nil {
		return err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	Say(to.Out, "%s", versions(info))
	return nil
}

// versions are the lines of redislock version. A program of a checkout has the library of that checkout, and the go
// command calls it (devel), even where it knows the commit of the tool.
func versions(info *debug.BuildInfo) string {
	return fmt.Sprintf("redislock %s\nlibrary %s\n%s %s/%s\ngo-redis %s\n",
		cmp.Or(version, info.Main.Version, unknown), cmp.Or(version, dependency(info, libraryPath)),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, dependency(info, goRedisPath))
}

const unknown = "(unknown)"

// dependency is the version of a module that the program was built with: of what replaces it, if something does.
func dependency(info *debug.BuildInfo, path string) string {
	for _, m := range info.Deps {
		if m.Path == path {
			return cmp.Or(cmp.Or(m.Replace, m).Version, unknown)
		}
	}
	return unknown
}
