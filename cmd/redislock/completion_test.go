package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// needProgram skips the test where a program is missing. In the gate bash has to be there.
func needProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && name == "bash" && os.Getenv("CI") == "true" {
		t.Fatal("not run: no bash")
	}
	if err != nil {
		t.Skipf("not run: no %s", name)
	}
	return path
}

// output returns what a program writes to its standard output with a text as its input, and fails the test if it writes to
// its standard error.
func outputOf(t *testing.T, input, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(input)
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "XDG_CONFIG_HOME="+cmd.Dir, "XDG_DATA_HOME="+cmd.Dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v\n%s%s", filepath.Base(program), err, out, &stderr)
	}
	return string(out)
}

// completions are what a shell offers for the last word of a command line, and what it does not offer.
var completions = []struct {
	line       string
	want, none []string
}{
	{"redislock ", []string{"run", "ls", "help", "completion"}, []string{"-redis"}},
	{"redislock de", []string{"demo"}, []string{"run"}},
	{"redislock demo ", []string{"money", "backoff"}, []string{"run", "-quick"}},
	{"redislock demo money b", []string{"backoff"}, []string{"money"}},
	{"redislock demo -", []string{"-quick", "-redis", "-h"}, []string{"money"}},
	{"redislock demo -quick con", []string{"conflict"}, nil},
	{"redislock completion ", []string{"bash", "zsh", "fish"}, nil},
	{"redislock help ex", nil, []string{"run"}},
	{"redislock help d", []string{"doctor", "demo"}, nil},
	{"redislock demo -redis m", nil, []string{"money"}},
}

func testCompletions(t *testing.T, complete func(t *testing.T, line string) []string) {
	t.Helper()
	for _, tt := range completions {
		got := complete(t, tt.line)
		for _, word := range tt.want {
			if !slices.Contains(got, word) {
				t.Errorf("%s| offers %q, want %s", tt.line, got, word)
			}
		}
		for _, word := range tt.none {
			if slices.Contains(got, word) {
				t.Errorf("%s| offers %s", tt.line, word)
			}
		}
	}
}

func TestCompletionBash(t *testing.T) {
	t.Parallel()
	bash := needProgram(t, "bash")
	script, _, _ := runTool(t, "completion", "bash")
	testCompletions(t, func(t *testing.T, line string) []string {
		t.Helper()
		words := strings.Split(line, " ")
		return strings.Fields(outputOf(t, script+"\nCOMP_WORDS=('"+strings.Join(words, "' '")+"')\n"+
			"COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_redislock\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n", bash, "--norc"))
	})
}

// zsh completes in its line editor alone, so its own functions are replaced by ones that say what they are told.
func TestCompletionZsh(t *testing.T) {
	t.Parallel()
	zsh := needProgram(t, "zsh")
	script, _, _ := runTool(t, "completion", "zsh")
	check.NoError(t, os.WriteFile(filepath.Join(t.TempDir(), "_redislock"), []byte(script), 0o600))
	got := outputOf(t, "autoload -U compinit; compinit -u -d ./dump\n"+script+"\nprint $+functions[_redislock] $_comps[redislock]\n"+
		"_describe() { print -l $commands }\n_arguments() { print -l -- $@ }\n"+
		"words=(redislock ''); CURRENT=2; _redislock\nwords=(redislock demo ''); CURRENT=3; _redislock\n", zsh, "-f")
	for _, want := range []string{"1 _redislock\n", "doctor:", "-quick[play the timed acts", "*:argument:(money conflict"} {
		if !strings.Contains(got, want) {
			t.Errorf("zsh has no %q in:\n%s", want, got)
		}
	}
}

func TestCompletionFish(t *testing.T) {
	t.Parallel()
	fish := needProgram(t, "fish")
	script, _, _ := runTool(t, "completion", "fish")
	testCompletions(t, func(t *testing.T, line string) []string {
		t.Helper()
		var words []string
		for offered := range strings.Lines(outputOf(t, script+"\ncomplete -C '"+line+"'\n", fish, "--no-config")) {
			word, _, _ := strings.Cut(strings.TrimSpace(offered), "\t")
			words = append(words, word)
		}
		return words
	})
}

// Each command line that a script completes has the flags and the words of the command.
func TestCompletionIsComplete(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, stderr, status := runTool(t, "completion", shell)
		if status != 0 || stderr != "" {
			t.Errorf("%s: status %d: %s", shell, status, stderr)
		}
		for _, c := range tool().Commands {
			if strings.Contains(script, " "+c.Name+" ") == c.Hidden && c.Hidden {
				t.Errorf("%s: %s is hidden, and is offered", shell, c.Name)
			}
			if !c.Hidden && !strings.Contains(script, c.Name) {
				t.Errorf("%s: no %s", shell, c.Name)
			}
		}
	}
}

func TestManualPage(t *testing.T) {
	t.Parallel()
	page, stderr, status := runTool(t, "man")
	if status != 0 || stderr != "" {
		t.Fatalf("status %d: %s", status, stderr)
	}
	file := filepath.Join(t.TempDir(), "redislock.1")
	check.NoError(t, os.WriteFile(file, []byte(page), 0o600))
	t.Run("mandoc", func(t *testing.T) {
		t.Parallel()
		if got := outputOf(t, "", needProgram(t, "mandoc"), "-Tlint", "-W", "error", file); got != "" {
			t.Error(got)
		}
	})
	t.Run("groff", func(t *testing.T) {
		t.Parallel()
		got := outputOf(t, "", needProgram(t, "groff"), "-ww", "-man", "-Tascii", "-P-cbou", file)
		for _, want := range []string{"redislock demo [flags] [act ...]", "-quick", "EXIT STATUS", "redislock completion bash"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in:\n%s", want, got)
			}
		}
	})
}
