package ci

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Backports come from the mirror of the machine, with its key, and with nothing that would let unsigned packages in.
func TestInstallBackports(t *testing.T) {
	t.Parallel()
	const found = "Types: deb\nSuites: bookworm-backports\nComponents: main\nURIs: http://mirror.example/debian\n"
	for name, tt := range map[string]struct {
		sources, list, parts string // *.sources, sources.list, *.list
		want                 string // "": no file is written
	}{
		"a stanza": {sources: mirror, want: found + "Signed-By: /debian.gpg\n"},
		"a stanza with options, comments and a key": {
			sources: "# the mirror\nTypes: deb-src deb\n# of all\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main contrib\n" +
				"Trusted: yes\nAllow-Insecure: yes\nAllow-Weak: yes\nSigned-By:\n -----BEGIN\n# a key\n .\n xyz\nCheck-Valid-Until: no\n",
			want: found + "Signed-By:\n -----BEGIN\n .\n xyz\n",
		},
		"the stanza that has the suite": {
			sources: "Types: deb\nURIs: http://security.example\nSuites: bookworm-security\nComponents: main\n\n" +
				"Types: deb\nURIs: http://off.example\nSuites: bookworm\nEnabled: no\n\n" +
				"Types: deb-src\nURIs: http://source.example\nSuites: bookworm\n\n" + strings.ToUpper(mirror[:5]) + mirror[5:] +
				"\nTypes: deb\nURIs: http://later.example\nSuites: bookworm\n",
			want: found + "Signed-By: /debian.gpg\n",
		},
		"a line": {list: "deb http://mirror.example/debian bookworm main\n", want: found},
		"a line with options": {
			list: "deb [arch=amd64 trusted=yes signed-by=/line.gpg allow-insecure=yes] http://mirror.example/debian bookworm main\n",
			want: found + "Signed-By: /line.gpg\n",
		},
		"the line that has the suite": {
			list: "# deb http://off.example bookworm main\ndeb-src http://source.example bookworm main\n",
			parts: "deb http://security.example bookworm-security main\ndeb http://mirror.example/debian bookworm main # ours\n" +
				"deb http://later.example bookworm main\n",
			want: found,
		},
		"the suite is there, in a stanza": {
			sources: mirror + "\nTypes: deb\nURIs: http://mirror.example/debian\nSuites: bookworm-backports\nComponents: main\n",
		},
		"the suite is there, in a line": {sources: mirror, list: "deb http://mirror.example/debian bookworm-backports main\n"},
		"another system":                {sources: strings.ReplaceAll(mirror, "bookworm", "noble")},
		"nothing":                       {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSandbox(t)
			b.without("bin/valkey-server")
			b.write("apt/sources.list.d/a.sources", "Types: deb-src\nURIs: http://first.example\nSuites: bookworm\n")
			b.write("apt/sources.list.d/debian.sources", tt.sources)
			if tt.list != "" {
				b.write("apt/sources.list", tt.list)
			}
			if tt.parts != "" {
				b.write("apt/sources.list.d/a.list", tt.parts)
			}
			said, ok := b.install("true")
			if ok != (tt.want != "") {
				t.Errorf("it succeeded: %t\n%s", ok, said)
			}
			if diff := cmp.Diff(tt.want, b.text("apt/sources.list.d/bookworm-backports.sources")); diff != "" {
				t.Errorf("the file (-want +got):\n%s", diff)
			}
			if b.text("apt/sources.list.d/debian.sources") != tt.sources || b.text("apt/sources.list") != tt.list {
				t.Error("it has changed what was there")
			}
		})
	}
}

// The newest servers come into a folder of the tree, from packages that a key of the machine has signed.
func TestInstallNewest(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	b.write("apt/sources.list.d/debian.sources", mirror+"Trusted: yes\n")
	b.write(".bin/newest/redis-server", fails) // from another time
	if said, ok := b.install("true", "newest"); !ok || !strings.Contains(said, "getting the newest Redis and Valkey") {
		t.Fatalf("it succeeded: %t\n%s", ok, said)
	}
	want := "Types: deb\nSuites: testing\nComponents: main\nURIs: http://mirror.example/debian\nSigned-By: /debian.gpg\nTargets: Packages\n"
	if diff := cmp.Diff(want, b.text("testing.sources")); diff != "" {
		t.Errorf("its sources (-want +got):\n%s", diff)
	}
	for _, line := range []string{`APT::Get::AllowUnauthenticated "false";`, `Acquire::AllowInsecureRepositories "false";`, `Acquire::AllowWeakRepositories "false";`} {
		if !strings.Contains(b.text("apt.conf"), line) {
			t.Errorf("apt is not told %s", line)
		}
	}
	for _, server := range []string{"redis-server", "valkey-server"} {
		if b.text(".bin/newest/"+server) == "" {
			t.Errorf("there is no %s", server)
		}
	}
	b.without("log")
	if said, ok := b.install("true", "newest"); said != "" || !ok || b.text("log") != "" {
		t.Errorf("with everything there it says %q, succeeded %t, and has called %q", said, ok, b.text("log"))
	}
}

// Where they cannot be had that is said, and in the gate it is a failure.
func TestInstallNoNewest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(b *sandbox)
		says   string
	}{
		"without apt":                       {func(b *sandbox) { b.without("bin/apt-get") }, "this system has no apt-get"},
		"without dpkg":                      {func(b *sandbox) { b.without("bin/dpkg") }, "this system has no apt-get"},
		"another system":                    {func(b *sandbox) { b.write("os-release", "ID=ubuntu\nVERSION_CODENAME=bookworm\n") }, "this is no Debian"},
		"no mirror":                         {func(b *sandbox) { b.without("apt/sources.list.d/debian.sources") }, "its mirror is not known"},
		"a mirror that cannot be reached":   {func(b *sandbox) { b.write("unreachable", "") }, "the packages could not be had"},
		"servers that do not start":         {func(b *sandbox) { b.write("program", fails) }, "the servers do not start"},
		"servers that were there, but fail": {func(b *sandbox) { b.write(".bin/newest/redis-server", fails); b.write("unreachable", "") }, "the packages could not be had"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, ci := range []string{"", "true"} {
				b := newSandbox(t)
				tt.change(b)
				said, ok := b.install(ci, "newest")
				if ok != (ci == "") || !strings.Contains(said, tt.says) || !strings.Contains(said, "not run: the tests on the newest Redis and Valkey") {
					t.Errorf("with CI=%s it succeeded: %t, and does not say %q:\n%s", ci, ok, tt.says, said)
				}
			}
		})
	}
}
