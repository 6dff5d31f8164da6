package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"
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
		Define: func(flags *pflag.FlagSet) Action {
			asJSON := JSONFlag(flags)
			return func(_ context.Context, to Streams, args []string) error {
				v := versionsOf(buildInfo())
				switch {
				case len(args) > 0:
					return NoArguments(args)
				case *asJSON:
					return WriteJSON(to.Out, v)
				}
				Say(to.Out, "%s", v)
				return nil
			}
		},
	}
}

func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return new(debug.BuildInfo)
}

// versions are those that redislock version shows.
type versions struct {
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	GoRedis string `json:"go_redis"`
	Library string `json:"library"`
	Tool    string `json:"redislock"`
}

// versionsOf are the versions of a program. One of a checkout has the library of that checkout, and the go command calls it
// (devel), even where it knows the commit of the tool.
func versionsOf(info *debug.BuildInfo) versions {
	return versions{
		Tool: cmp.Or(version, info.Main.Version, unstated), Library: cmp.Or(version, dependency(info, libraryPath)),
		Commit: commit(info), Go: runtime.Version(), GoRedis: dependency(info, goRedisPath),
	}
}

func (v versions) String() string {
	return fmt.Sprintf("redislock %s\nlibrary %s\ncommit %s\n%s %s/%s\ngo-redis %s\n", v.Tool, v.Library, v.Commit, v.Go,
		runtime.GOOS, runtime.GOARCH, v.GoRedis)
}

const unstated = "(unknown)"

// commit is that of the checkout in which the program was built, as far as the go command has noted it.
func commit(info *debug.BuildInfo) string {
	revision, changed := unstated, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ", and changes"
		}
	}
	return revision + changed
}

// dependency is the version of a module that the program was built with: of what replaces it, if something does.
func dependency(info *debug.BuildInfo, path string) string {
	for _, m := range info.Deps {
		if m.Path == path {
			return cmp.Or(cmp.Or(m.Replace, m).Version, unstated)
		}
	}
	return unstated
}
