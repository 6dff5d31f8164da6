// Package ci tests the scripts in .ci.
package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// tools are what .ci/install may use of the machine. Whatever else it calls is made by the test, or missing.
var tools = []string{"awk", "basename", "cat", "chmod", "cp", "dirname", "env", "find", "mkdir", "mktemp", "mv", "paste", "rm", "sed", "tee"}

// servers are the programs that .ci/install looks for, and cc.
var servers = []string{"redis-server", "redis-sentinel", "redis-cli", "luacheck", "zsh", "fish", "mandoc", "valkey-server", "cc"}

const (
	works = "#!/bin/sh\nexit 0\n"
	fails = "#!/bin/sh\nexit 1\n"

	// aptGet has the packages that stand in a folder, as the names of their programs, and valkey-server only with backports. What
	// comes for the newest servers is two files, for dpkg.
	aptGet = `#!/bin/sh
echo "apt-get $*" >>$D/log
case " $* " in
*" -c "*)
	cp "${2%/*}/apt.conf" "${2%/*}/sources/testing.sources" $D/
	case "$*" in
	*update) [ ! -e $D/unreachable ] ;;
	*) : >"${2%/*}/archives/a.deb" ;;
	esac ;;
*" update "*) [ ! -e $D/unreachable ] ;;
*)
	for package; do :; done
	[ "$package" != valkey-server ] || [ -e $D/candidate ] || [ -e $D/apt/sources.list.d/bookworm-backports.sources ] || exit 100
	programs=$(cat $D/packages/$package) || exit 100
	for program in $programs; do cp $D/program $D/bin/$program; done ;;
esac
`
	aptCache = `#!/bin/sh
[ ! -e $D/unknown ] || exit 0
echo "$2:"
echo '  Installed: (none)'
if [ -e $D/candidate ]; then echo '  Candidate: 8.1'; else echo '  Candidate: (none)'; fi
`
	sudo = `#!/bin/sh
echo sudo $1 >>$D/log
shift
exec "$@"
`
	// dpkg unpacks servers that a loader runs, which is one that finds everything well.
	dpkg = `#!/bin/sh
mkdir -p $3/usr/bin $3/lib
: >$3/lib/libc.so.6
cp $D/program $3/lib/ld-linux-x.so.2
`
	mirror = "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-By: /debian.gpg\n"
)

// A sandbox is a machine of which .ci/install sees only what the test has made.
type sandbox struct {
	t   *testing.T
	dir string
}

// newSandbox makes a Debian 12 on which everything is there, whose user is root.
func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the script is for Debian")
	}
	b := &sandbox{t: t, dir: t.TempDir()}
	text := string(check.Must[[]byte](t)(os.ReadFile("../../../.ci/install")))
	for old, with := range map[string]string{"=/etc/apt\n": "=" + b.dir + "/apt\n", "/etc/os-release": b.dir + "/os-release", ":/usr/sbin:/sbin": ""} {
		if !strings.Contains(text, old) {
			t.Fatalf(".ci/install has no %q, by which it looks at the machine", old)
		}
		text = strings.ReplaceAll(text, old, with)
	}
	b.write(".ci/install", text)
	b.write("os-release", "ID=debian\nVERSION_CODENAME=bookworm\n")
	b.write("apt/sources.list.d/debian.sources", mirror)
	b.write("program", works)
	for _, name := range servers {
		b.write("bin/"+name, works)
	}
	for _, name := range tools {
		check.NoError(t, os.Symlink(check.Must[string](t)(exec.LookPath(name)), b.path("bin/"+name)))
	}
	for name, text := range map[string]string{"id": "#!/bin/sh\necho 0\n", "apt-get": aptGet, "apt-cache": aptCache, "dpkg": dpkg} {
		b.write("bin/"+name, text)
	}
	for name, programs := range map[string]string{
		"redis-server": "redis-server", "redis-sentinel": "redis-sentinel", "redis-tools": "redis-cli", "lua-check": "luacheck", "zsh": "zsh", "fish": "fish", "mandoc": "mandoc",
		"valkey-server": "valkey-server", "gcc": "cc", "libc6-dev": "",
	} {
		b.write("packages/"+name, programs)
	}
	return b
}

func (b *sandbox) path(name string) string { return filepath.Join(b.dir, name) }

// write makes a file that can be executed.
func (b *sandbox) write(name, text string) {
	b.t.Helper()
	check.NoError(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o700))
	check.WriteProgram(b.t, b.path(name), text)
}

// without takes files away.
func (b *sandbox) without(names ...string) {
	b.t.Helper()
	for _, name := range names {
		check.NoError(b.t, os.Remove(b.path(name)))
	}
}

// text is what a file has; "" if there is none.
func (b *sandbox) text(name string) string {
	text, err := os.ReadFile(b.path(name))
	if err != nil {
		return ""
	}
	return string(text)
}

// install runs the script, and returns what it has said and whether it has succeeded.
func (b *sandbox) install(ci string, args ...string) (said string, succeeded bool) {
	b.t.Helper()
	bash := check.Must[string](b.t)(exec.LookPath("bash"))
	cmd := exec.CommandContext(b.t.Context(), bash, append([]string{b.path(".ci/install")}, args...)...)
	cmd.Env = []string{"PATH=" + b.path("bin"), "D=" + b.dir, "CI=" + ci}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}
