package cli

import (
	"cmp"
	"context"
	"flag"
	"runtime"
	"runtime/debug"
)

// version is set by the linker of `make dist`; otherwise the go command has noted it in the program.
var version string

// VersionCommand is redislock version.
func VersionCommand() Command {
	return Command{
		Name:     "version",
		Summary:  "show the version of the tool, of Go and of go-redis",
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
	Say(to.Out, "redislock %s\n%s %s/%s\ngo-redis %s\n", versionOf(info), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		dependency(info, "github.com/redis/go-redis/v9"))
	return nil
}

// versionOf is the version that was stamped, or that of the module: of a commit if it has no name.
func versionOf(info *debug.BuildInfo) string {
	return cmp.Or(version, info.Main.Version, "(unknown)")
}

func dependency(info *debug.BuildInfo, path string) string {
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "(unknown)"
}
