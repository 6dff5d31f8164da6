package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// needProgram skips the test where a program is missing. In the gate the shells have to be there.
func needProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if shells := []string{"bash", "zsh", "fish"}; err != nil && slices.Contains(shells, name) && os.Getenv("CI") == "true" {
		t.Fatalf("not run: no %s", name)
	}
	if err != nil {
		t.Skipf("not run: no %s", name)
	}
	return path
}

// outputOf returns what a program writes to its standard output with a text as its input, and fails the test if it writes to
// its standard error.
func outputOf(t *testing.T, env []string, input, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(input)
	cmd.Env = append(slices.Clip(env), "HOME="+cmd.Dir, "XDG_CONFIG_HOME="+cmd.Dir, "XDG_DATA_HOME="+cmd.Dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v\n%s%s", filepath.Base(program), err, out, &stderr)
	}
	return string(out)
}

// completions are what a shell offers for the last word of a command line, and what it does not offer. The server has locks of
// orders:17, orders:18 and nightly.
var completions = []struct {
	line       string
	want, none []string
}{
	{"redislock ", []string{"run", "ls", "help", "completion"}, []string{"__supervise"}},
	{"redislock de", []string{"demo"}, []string{"run"}},
	{"redislock demo ", []string{"money", "backoff"}, []string{"run"}},
	{"redislock demo money b", []string{"backoff"}, []string{"money"}},
	{"redislock demo --", []string{"--quick", "--redis"}, []string{"money"}},
	{"redislock demo --quick con", []string{"conflict"}, nil},
	{"redislock completion ", []string{"bash", "zsh", "fish"}, nil},
	{"redislock help d", []string{"doctor", "demo"}, []string{"run"}},
	{"redislock ls --sort ", []string{"ttl", "waiting"}, []string{"orders:17"}},
	{"redislock doctor --only ev", []string{"eviction"}, nil},
	{"redislock show ", []string{"orders:17", "orders:18", "nightly"}, []string{"other"}},
	{"redislock show orders:17 ", []string{"orders:18"}, []string{"orders:17"}},
	{"redislock run n", []string{"nightly"}, []string{"orders:17"}},
	{"redislock run nightly -- ", nil, []string{"orders:17"}},
}

// withLocks is the environment of a shell that completes, with the tool in its path and a server that has some locks.
func withLocks(t *testing.T) []string {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	client := redislock.New(server.Client(t))
	t.Cleanup(client.Close)
	for _, key := range []string{"orders:17", "orders:18", "nightly"} {
		check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, time.Hour, nil))
	}
	check.NoError(t, server.Client(t).Set(t.Context(), "other", "x", 0).Err())
	bin := t.TempDir()
	check.NoError(t, os.Symlink(check.Must[string](t)(os.Executable()), filepath.Join(bin, "redislock")))
	return append(newProcess(t).Env, cli.RedisVariable+"=redis://"+server.Addr(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// What the scripts of all shells ask the tool itself.
func TestCompletion(t *testing.T) {
	t.Parallel()
	env := withLocks(t)
	for _, tt := range completions {
		p := newProcess(t, append([]string{"__complete"}, strings.Split(tt.line, " ")[1:]...)...)
		p.Env = env
		p.start(t)
		status := p.status(t)
		wantOffered(t, tt.line, strings.Split(p.stdout.String(), "\n"), tt.want, tt.none)
		if status != 0 {
			t.Errorf("%s| status %d: %s", tt.line, status, p.stderr.String())
		}
	}
}

func wantOffered(t *testing.T, line string, got, want, none []string) {
	t.Helper()
	for i, offered := range got {
		got[i], _, _ = strings.Cut(strings.TrimSpace(offered), "\t")
	}
	for _, word := range want {
		if !slices.Contains(got, word) {
			t.Errorf("%s| offers %q, want %s", line, got, word)
		}
	}
	for _, word := range none {
		if slices.Contains(got, word) {
			t.Errorf("%s| offers %s", line, word)
		}
	}
}

// The scripts are loaded by their shells, and complete there.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	env := withLocks(t)
	const line = "redislock show ord"
	for shell, script := range map[string]string{
		"bash": "source <(redislock completion bash)\nCOMP_LINE='" + line + "' COMP_POINT=${#COMP_LINE} COMP_WORDS=(" + line + ") COMP_CWORD=2\n" +
			"_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=(\"${COMP_WORDS[@]}\") cword=$COMP_CWORD; }\n" +
			"__ltrim_colon_completions() { :; }\ncompopt() { :; }\n__start_redislock\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n",
		// zsh completes in its line editor alone, so the function that shows what there is says it.
		"zsh": "autoload -U compinit; compinit -u -d ./dump\nsource <(redislock completion zsh)\n" +
			"_describe() { print -l $completions }\nwords=(" + line + "); CURRENT=3; _redislock\n",
		"fish": "redislock completion fish | source\ncomplete -C '" + line + "'\n",
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			args := map[string][]string{"bash": {"--norc"}, "zsh": {"-f"}, "fish": {"--no-config"}}[shell]
			got := outputOf(t, env, script, needProgram(t, shell), args...)
			for _, want := range []string{"orders:17", "orders:18"} {
				if !strings.Contains(strings.ReplaceAll(got, `\:`, ":"), want) {
					t.Errorf("no %s in %q", want, got)
				}
			}
			if strings.Contains(got, "nightly") {
				t.Errorf("nightly is offered: %q", got)
			}
		})
	}
}

func TestManualPage(t *testing.T) {
	t.Parallel()
	page, stderr, status := runTool(t, "man")
	of, more, bad := runTool(t, "man", "run")
	page, stderr, status = page+of, stderr+more, status+bad
	if status != 0 || stderr != "" {
		t.Fatalf("status %d: %s", status, stderr)
	}
	file := filepath.Join(t.TempDir(), "redislock.1")
	check.NoError(t, os.WriteFile(file, []byte(page), 0o600))
	t.Run("mandoc", func(t *testing.T) {
		t.Parallel()
		if got := outputOf(t, os.Environ(), "", needProgram(t, "mandoc"), "-Tlint", "-W", "error", file); got != "" {
			t.Error(got)
		}
	})
	t.Run("groff", func(t *testing.T) {
		t.Parallel()
		got := outputOf(t, os.Environ(), "", needProgram(t, "groff"), "-ww", "-man", "-Tascii", "-P-cbou", file)
		for _, want := range []string{"SEE ALSO", "Exit status", "REDISLOCK_REDIS", "wait in line for at most", "redislock run -n --at-least 1m"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in:\n%s", want, got)
			}
		}
	})
}
