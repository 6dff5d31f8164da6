package main

import (
	"regexp"
	"strings"
)

// advice says how to get what was lacking, by the words of a reason that name it.
var advice = []struct{ lack, get string }{
	{"needs redis-server", "apt-get install redis-server, brew install redis, or the system's package of Redis 7"},
	{"needs redis-sentinel", "apt-get install redis-sentinel, brew install redis, or the system's package of Redis 7"},
	{"needs redis-cli", "apt-get install redis-tools, brew install redis, or the system's package of Redis 7"},
	{"needs valkey-server", "apt-get install valkey-server, brew install valkey, or the system's package of Valkey 8"},
	{"needs valkey-cli", "apt-get install valkey-tools, brew install valkey, or the system's package of Valkey 8"},
	{"no C compiler", "apt-get install gcc libc6-dev, xcode-select --install; for the race detector alone"},
	{"luacheck", "apt-get install lua-check, brew install luacheck; for make lint alone"},
	{"modules that are not on this machine", "go mod download, once, with a network and a module cache that can be written"},
}

// adviceFor returns how to get what a reason says is lacking, and the reason without what else it says about that.
func adviceFor(reason string) (brief, get string) {
	for _, a := range advice {
		if strings.Contains(reason, a.lack) {
			if strings.HasPrefix(a.lack, "needs ") && strings.HasPrefix(reason, a.lack) {
				reason = a.lack
			}
			return reason, a.get
		}
	}
	return reason, ""
}

const noModules = "needs modules that are not on this machine"

// noModule is what the go command says of a package for which it cannot get a module: without a network, or because the
// cache of modules cannot be written.
var noModule = regexp.MustCompile(
	`module lookup disabled by GOPROXY=off|: Get "|[Cc]ould not resolve host|mkdir .*: (permission denied|read-only file system)`)

// noPackages is what the go command says of a pattern that matches nothing. It does not always fail for it.
var noPackages = regexp.MustCompile(
	`^(go: warning: ".*" matched no packages|(go: )?no packages to (test|vet)|pattern .*: (lstat|directory prefix) .*)$`)
