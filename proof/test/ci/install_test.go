package ci

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	aptOptions = "apt-get -o DPkg::Lock::Timeout=120 -qq "
	aptInstall = aptOptions + "install --no-install-recommends -y "
	aptUpdate  = aptOptions + "update\n"
)

// Where everything is there nothing is done, and nothing is said.
func TestInstallNothing(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"cc", "gcc", "clang"} {
		b := newSandbox(t)
		b.without("bin/cc")
		b.write("bin/"+compiler, works)
		if said, ok := b.install("true"); said != "" || !ok || b.text("log") != "" {
			t.Errorf("with %s: it says %q, succeeded %t, and has called %q", compiler, said, ok, b.text("log"))
		}
	}
}

// What cannot be installed is named. In the gate that is a failure.
func TestInstallMissing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(b *sandbox)
		says   []string
	}{
		"a system without apt": {
			func(b *sandbox) { b.without("bin/apt-get", "bin/redis-cli", "bin/luacheck") },
			[]string{"this system has no apt-get", "missing: redis-tools lua-check\n"},
		},
		"no compiler": {
			func(b *sandbox) { b.without("bin/apt-get", "bin/cc") }, []string{"missing: gcc libc6-dev\n"},
		},
		"a compiler without headers": {
			func(b *sandbox) { b.without("bin/apt-get"); b.write("bin/cc", fails) }, []string{"missing: gcc libc6-dev\n"},
		},
		"no rights": {
			func(b *sandbox) { b.without("bin/redis-server"); b.write("bin/id", "#!/bin/sh\necho 1000\n") },
			[]string{"neither root nor sudo", "missing: redis-server\n"},
		},
		"one package that is not to be had": {
			func(b *sandbox) { b.without("bin/redis-sentinel", "bin/luacheck", "packages/redis-sentinel") },
			[]string{"could not install redis-sentinel", "not everything could be installed", "missing: redis-sentinel\n"},
		},
		"no Valkey, and no suite that may have it": {
			func(b *sandbox) { b.without("bin/valkey-server", "apt/sources.list.d/debian.sources") },
			[]string{"could not install valkey-server", "missing: valkey-server\n"},
		},
		"no Valkey, on a system without a name": {
			func(b *sandbox) { b.without("bin/valkey-server"); b.write("os-release", "ID=debian\n") },
			[]string{"missing: valkey-server\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, ci := range []string{"", "true"} {
				b := newSandbox(t)
				tt.change(b)
				said, ok := b.install(ci)
				if ok != (ci == "") {
					t.Errorf("with CI=%s it succeeded: %t", ci, ok)
				}
				for _, text := range tt.says {
					if !strings.Contains(said, text) {
						t.Errorf("with CI=%s it does not say %q:\n%s", ci, text, said)
					}
				}
				if b.text("apt/sources.list.d/bookworm-backports.sources") != "" {
					t.Error("it has changed the sources")
				}
			}
		})
	}
}

// What is missing is installed, package by package, and nothing else.
func TestInstall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(b *sandbox)
		log    string
	}{
		"two programs": {
			func(b *sandbox) { b.without("bin/redis-cli", "bin/luacheck") },
			aptUpdate + aptInstall + "redis-tools\n" + aptInstall + "lua-check\n",
		},
		"a compiler": {
			func(b *sandbox) { b.without("bin/cc") }, aptUpdate + aptInstall + "gcc\n" + aptInstall + "libc6-dev\n",
		},
		"by sudo": {
			func(b *sandbox) {
				b.without("bin/luacheck")
				b.write("bin/id", "#!/bin/sh\necho 1000\n")
				b.write("bin/sudo", sudo)
			},
			"sudo -n\n" + aptUpdate + "sudo -n\n" + aptInstall + "lua-check\n",
		},
		"with a source that cannot be reached": {
			func(b *sandbox) { b.without("bin/luacheck"); b.write("unreachable", "") }, aptUpdate + aptInstall + "lua-check\n",
		},
		"Valkey": {
			func(b *sandbox) { b.without("bin/valkey-server"); b.write("candidate", "") }, aptUpdate + aptInstall + "valkey-server\n",
		},
		"Valkey, which is not known, from backports": {
			func(b *sandbox) { b.without("bin/valkey-server"); b.write("unknown", "") },
			aptUpdate + aptUpdate + aptInstall + "valkey-server\n",
		},
		"Valkey from backports": {
			func(b *sandbox) { b.without("bin/valkey-server") }, aptUpdate + aptUpdate + aptInstall + "valkey-server\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSandbox(t)
			tt.change(b)
			if said, ok := b.install("true"); !ok {
				t.Errorf("it has failed:\n%s", said)
			}
			if diff := cmp.Diff(tt.log, b.text("log")); diff != "" {
				t.Errorf("what it has called (-want +got):\n%s", diff)
			}
			if wants := strings.HasSuffix(name, "backports"); wants != (b.text("apt/sources.list.d/bookworm-backports.sources") != "") {
				t.Errorf("backports are among the sources: %t", !wants)
			}
		})
	}
}

// The quick suite needs Redis and a compiler, and nothing else is installed for it.
func TestInstallQuick(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	b.without("bin/redis-server", "bin/redis-sentinel", "bin/valkey-server", "bin/luacheck")
	if said, ok := b.install("true", "quick"); !ok || !strings.Contains(b.text("log"), aptInstall+"redis-server\n") {
		t.Errorf("succeeded %t, and has called %q:\n%s", ok, b.text("log"), said)
	}
	if log := b.text("log"); strings.Contains(log, "sentinel") || strings.Contains(log, "valkey") || strings.Contains(log, "lua") {
		t.Errorf("it has called %q", log)
	}
	b.without("bin/redis-server", "bin/apt-get")
	said, ok := b.install("", "quick")
	if want := "to run the quick suite, install Redis 7 and a C compiler"; !ok || !strings.Contains(said, want) {
		t.Errorf("succeeded %t, and says %q, want %q in it", ok, said, want)
	}
}
