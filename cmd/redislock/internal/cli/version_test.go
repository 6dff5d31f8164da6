package cli

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// Whoever reports an error names the versions of both modules, however the tool was built.
func TestVersions(t *testing.T) {
	built := func(tool string, deps ...*debug.Module) debug.BuildInfo {
		return debug.BuildInfo{
			Main: debug.Module{Version: tool}, Deps: deps, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "6f1d2c3"}},
		}
	}
	library := func(m debug.Module) *debug.Module { m.Path = libraryPath; return &m }
	goRedis := &debug.Module{Path: goRedisPath, Version: "v9.23.0"}
	for name, tt := range map[string]struct {
		stamped string
		info    debug.BuildInfo
		want    []string // of the tool, of the library and of go-redis
	}{
		"go install":           {"", built("v0.2.0", goRedis, library(debug.Module{Version: "v0.1.3"})), []string{"v0.2.0", "v0.1.3", "v9.23.0"}},
		"go run in a checkout": {"", built("(devel)", goRedis, library(debug.Module{Version: "(devel)"})), []string{"(devel)", "(devel)", "v9.23.0"}},
		"make dist":            {"v0.2.0", built("(devel)", goRedis, library(debug.Module{Version: "(devel)"})), []string{"v0.2.0", "v0.2.0", "v9.23.0"}},
		"a replace": {
			"", built("(devel)", goRedis, library(debug.Module{Version: "v0.1.3", Replace: &debug.Module{Path: "../fork", Version: "v0.1.4"}})),
			[]string{"(devel)", "v0.1.4", "v9.23.0"},
		},
		"nothing noted": {"", debug.BuildInfo{}, []string{unstated, unstated, unstated}},
	} {
		t.Run(name, func(t *testing.T) {
			version = tt.stamped
			t.Cleanup(func() { version = "" })
			commit := "6f1d2c3"
			if tt.info.Settings == nil {
				commit = unstated
			}
			want := "redislock " + tt.want[0] + "\nlibrary " + tt.want[1] + "\ncommit " + commit + "\n" +
				strings.Join([]string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}, " ") + "\ngo-redis " + tt.want[2] + "\n"
			if got := versionsOf(&tt.info).String(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
