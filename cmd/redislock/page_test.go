package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// readPages returns the pages about the tool, by their names.
func readPages(t *testing.T) map[string]string {
	t.Helper()
	docs := filepath.Join("..", "..", "docs")
	pages := map[string]string{}
	for _, name := range append(check.Must[[]string](t)(filepath.Glob(filepath.Join("docs", "*.md"))), filepath.Join(docs, "tool.md")) {
		pages[name] = string(check.Must[[]byte](t)(os.ReadFile(name)))
	}
	return pages
}

// The blocks of the page that have a fixture show what the tool writes.
func TestPage(t *testing.T) {
	t.Parallel()
	for _, page := range readPages(t) {
		for _, b := range parseBlocks(t, page) {
			t.Run(b.name(), func(t *testing.T) {
				t.Parallel()
				fixture, ok := fixtures[b.fixture]
				if !ok {
					t.Fatalf("no test has the fixture %q", b.fixture)
				}
				server := redistest.Start(t, redistest.Redis)
				fixture(newCrowd(t, server.Client(t)))
				if text := b.run(t, server.Addr()); text != "" {
					t.Error(text)
				}
			})
		}
	}
}

// What is not true is found, whatever is wrong with it.
func TestPageIsRun(t *testing.T) {
	t.Parallel()
	addr := redistest.Shared(t, redistest.Redis).Addr()
	for status, ok := range map[string]bool{"2": true, "3": false} {
		block := parseBlocks(t, strings.ReplaceAll(`
<!-- fixture: empty -->
'''console
$ redislock nonsense
redislock: unknown command nonsense
…
$ echo $?
`+status+`
'''
`, "'''", "```"))[0]
		if text := block.run(t, addr); (text == "") != ok {
			t.Errorf("the page says exit status %s: %s", status, text)
		}
	}
}

// A block is some command lines of the page, and what they write.
type block struct {
	fixture string
	script  string   // the command lines
	lines   []string // of the block, without prompts
}

func (b block) name() string {
	first, _, _ := strings.Cut(b.script, "\n")
	return b.fixture + "/" + strings.Join(strings.Fields(first), "_")
}

// fixtureComment is what stands in front of a block, with the block, which has to begin with a command.
var fixtureComment = regexp.MustCompile("(?m)^<!-- fixture: ([\\w-]+) -->\n(?:```console\n(\\$ (?s:.*?))\n```$)?")

// parseBlocks finds the blocks of a page that have a fixture. A command line that ends with a backslash goes on in the next one.
func parseBlocks(t *testing.T, page string) (blocks []block) {
	t.Helper()
	for _, match := range fixtureComment.FindAllStringSubmatch(page, -1) {
		if match[2] == "" {
			t.Fatalf("no console block that begins with a command is behind the fixture %s", match[1])
		}
		b, goesOn := block{fixture: match[1]}, false
		for line := range strings.SplitSeq(match[2], "\n") {
			text, isCommand := strings.CutPrefix(line, "$ ")
			if goesOn {
				text, isCommand = strings.TrimPrefix(line, "> "), true
			}
			if goesOn = isCommand && strings.HasSuffix(text, `\`); isCommand {
				b.script += text + "\n"
			}
			b.lines = append(b.lines, text)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// run runs the commands of a block in a shell that repeats them, in a folder of its own, where `redislock` is this test binary. It
// returns what is wrong with the page, empty if nothing is.
func (b block) run(t *testing.T, addr string) string {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("not run: no shell: " + err.Error())
	}
	bin := t.TempDir()
	check.NoError(t, os.Symlink(check.Must[string](t)(os.Executable()), filepath.Join(bin, "redislock")))
	script := filepath.Join(bin, "script")
	check.NoError(t, os.WriteFile(script, []byte(b.script), 0o600))
	var out written
	cmd := exec.CommandContext(t.Context(), shell, "-v", script)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = t.TempDir(), &out, &out, 5*time.Second
	cmd.Env = append(newProcess(t).Env, cli.RedisVariable+"=redis://"+addr, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	_ = cmd.Run() // the status is that of the last command, and the page may show it
	return compare(b.lines, progress.ReplaceAllString(out.String(), ""))
}

// progress is what a command says in between, if the machine is so busy that its search takes a second or more.
var progress = regexp.MustCompile(`(?m)^   searching, \d+ %, \d+ locks\n`)

// A page is for one job, and is read in a few minutes. What is shown of the tool is not counted.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile("(?s)```.*?```")
	for name, text := range readPages(t) {
		if n := len(strings.Fields(shown.ReplaceAllString(text, ""))); n > 800 {
			t.Errorf("%s has %d words, want at most 800", name, n)
		}
	}
}

// What the pages say of a flag is a flag of that name.
func TestPagesNameFlags(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"help": true, "page": true}
	for _, c := range tool().Commands {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		c.Define(flags)
		flags.VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	for name, text := range readPages(t) {
		for _, flag := range regexp.MustCompile("[ `]--([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
			if !known[flag[1]] {
				t.Errorf("%s: no command has --%s", name, flag[1])
			}
		}
	}
}
