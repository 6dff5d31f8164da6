package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// readPage returns all of them as one.
func readPage(t *testing.T) string {
	t.Helper()
	pages := readPages(t)
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		all.WriteString(pages[name] + "\n")
	}
	return all.String()
}

// The blocks of the page that have a fixture show what the tool writes.
func TestPage(t *testing.T) {
	t.Parallel()
	blocks, err := parseBlocks(readPage(t))
	check.NoError(t, err)
	for _, b := range blocks {
		t.Run(b.name(), func(t *testing.T) {
			t.Parallel()
			fixture, ok := fixtures[b.fixture]
			if !ok {
				t.Fatalf("line %d: no test has the fixture %q", b.line, b.fixture)
			}
			server := redistest.Start(t, redistest.Redis)
			fixture(newCrowd(t, server.Client(t)))
			check.NoError(t, b.run(t, server.Addr()))
		})
	}
}

// What is not true is found, whatever is wrong with it.
func TestPageIsRun(t *testing.T) {
	t.Parallel()
	blocks, err := parseBlocks(strings.ReplaceAll(`
<!-- fixture: empty -->
'''console
$ redislock nonsense
redislock: unknown command nonsense
…
$ echo $?
STATUS
'''
`, "'''", "```"))
	check.NoError(t, err)
	addr := redistest.Shared(t, redistest.Redis).Addr()
	for status, ok := range map[string]bool{"2": true, "3": false} {
		b := blocks[0]
		b.steps = slices.Clone(b.steps)
		b.steps[1].want = []string{status}
		if err := b.run(t, addr); (err == nil) != ok {
			t.Errorf("the page says exit status %s: %v", status, err)
		}
	}
}

// A block is some command lines of the page, and what they write.
type block struct {
	fixture string
	line    int // of the page
	steps   []step
}

// A step is one command line.
type step struct {
	command string
	want    []string
}

func (b block) name() string {
	return fmt.Sprintf("%s/%s", b.fixture, strings.Join(strings.Fields(b.steps[0].command), "_"))
}

var fixtureComment = regexp.MustCompile(`^<!-- fixture: ([\w-]+) -->$`)

// parseBlocks finds the blocks of a page that have a fixture.
func parseBlocks(page string) (blocks []block, err error) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		match := fixtureComment.FindStringSubmatch(lines[i])
		if match == nil {
			continue
		}
		b := block{fixture: match[1], line: i + 1}
		if i++; i == len(lines) || lines[i] != "```console" {
			return nil, fmt.Errorf("line %d: no console block behind the fixture", b.line)
		}
		end := slices.Index(lines[i:], "```")
		if end < 0 {
			return nil, fmt.Errorf("line %d: the block has no end", b.line)
		}
		if b.steps = parseSteps(lines[i+1 : i+end]); len(b.steps) == 0 {
			return nil, fmt.Errorf("line %d: the block does not begin with a command", b.line)
		}
		blocks, i = append(blocks, b), i+end
	}
	return blocks, nil
}

// parseSteps splits a block. A line that ends with a backslash goes on in the next one.
func parseSteps(lines []string) (steps []step) {
	goesOn := false
	for _, line := range lines {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case goesOn:
			steps[len(steps)-1].command += "\n" + strings.TrimPrefix(line, "> ")
			goesOn = strings.HasSuffix(line, `\`)
		case isCommand:
			steps = append(steps, step{command: command})
			goesOn = strings.HasSuffix(line, `\`)
		case len(steps) == 0:
			return nil
		default:
			s := &steps[len(steps)-1]
			s.want = append(s.want, line)
		}
	}
	return steps
}

// stepEnd is what the shell writes between the output of one command and that of the next.
const stepEnd = "\n-- end of a step --\n"

// run runs the commands of a block in one shell, and returns an error if they write something else than the page says.
func (b block) run(t *testing.T, addr string) error {
	t.Helper()
	var script strings.Builder
	for _, s := range b.steps {
		fmt.Fprintf(&script, "%s\nstatus_of_step=$?; printf '%%s' '%s'; (exit $status_of_step)\n", s.command, stepEnd)
	}
	out, err := runShell(t, script.String(), cli.RedisVariable+"=redis://"+addr)
	if err != nil {
		return err
	}
	outputs := strings.Split(out, stepEnd)
	if len(outputs) != len(b.steps)+1 {
		return fmt.Errorf("line %d: the shell ended early:\n%s", b.line, out)
	}
	var wrong []error
	for i, s := range b.steps {
		if text := s.compare(outputs[i]); text != "" {
			wrong = append(wrong, fmt.Errorf("line %d: $ %s\n%s", b.line, s.command, text))
		}
	}
	return errors.Join(wrong...)
}

// runShell runs a script in a folder of its own, where `redislock` is this test binary, and returns all that it writes.
func runShell(t *testing.T, script string, env ...string) (string, error) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("not run: no shell: " + err.Error())
	}
	bin := t.TempDir()
	self := check.Must[string](t)(os.Executable())
	check.NoError(t, os.Symlink(self, filepath.Join(bin, "redislock")))
	p := newProcess(t)
	var out written
	cmd := exec.CommandContext(t.Context(), shell, "-c", script)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = t.TempDir(), &out, &out, 5*time.Second
	cmd.Env = append(append(p.Env, env...), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	_ = cmd.Run() // the status is that of the last command, and the page may show it
	if cmd.ProcessState == nil {
		return "", errors.New("the shell does not start")
	}
	return progress.ReplaceAllString(out.String(), ""), nil
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

// sectionsOf returns the sections of a page by the words of their headings. One may be about several commands.
func sectionsOf(page string) map[string]string {
	sections := map[string]string{}
	for part := range strings.SplitSeq("\n"+page, "\n## ") {
		heading, text, _ := strings.Cut(part, "\n")
		heading = strings.ToLower(heading)
		sections[heading] = text
		for _, name := range strings.FieldsFunc(heading, func(r rune) bool { return r < 'a' || r > 'z' }) {
			sections[name] = cmp.Or(sections[name], text)
		}
	}
	return sections
}
