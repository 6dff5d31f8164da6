package page

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each package that a target of the Makefile or the gate names is there. To go test and go vet a pattern that matches nothing is
// no failure: what has moved away would not be tested any more, and nobody would see it.
func TestPatternsMatch(t *testing.T) {
	t.Parallel()
	modules, named := modulesOf(t, root), 0
	for name, text := range map[string]string{"Makefile": recipes(t), ".ci/run": read(t, ".ci/run")} {
		for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
			for _, p := range patterns(line, modules) {
				named++
				if lack := p.lacks(root, modules); lack != "" {
					t.Errorf("%s: %s", name, lack)
				}
			}
		}
	}
	if named < 15 {
		t.Errorf("found %d packages", named)
	}
}

// recipes are those of all targets, as make would give them to the shell.
func recipes(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("not run: needs make")
	}
	args := []string{"--dry-run", "--no-print-directory"}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		args = append(args, m[1])
	}
	cmd := exec.CommandContext(t.Context(), "make", args...)
	cmd.Dir = root
	for _, setting := range os.Environ() { // those of the make that runs this test are not for this one
		if name, _, _ := strings.Cut(setting, "="); !strings.HasPrefix(name, "MAKE") && name != "MFLAGS" {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// modulesOf are the folders of the modules that the workspace of a tree lists.
func modulesOf(t *testing.T, tree string) (folders []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tree, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:use)?\s+(\.\S*)$`).FindAllStringSubmatch(string(text), -1) {
		folders = append(folders, filepath.Clean(m[1]))
	}
	return folders
}

// A pattern is one that a command names.
type pattern struct {
	dir   string // in which the command runs, from the root of the tree
	text  string
	alone bool // the command runs without the workspace
}

// A place is what a command of a shell gets from those before it.
type place struct {
	dirs  []string // one of them; more than one if it is in a variable
	alone bool
}

var (
	quote = regexp.MustCompile(`'[^']*'`)
	word  = regexp.MustCompile(`[();&|]|[^\s();&|]+`)
	start = regexp.MustCompile(`^(do|then|else|if|elif|while|until|time|exec|!|\{|[A-Za-z_]+=\S*|\$\{?[a-z]+\}?)$`)
)

// patterns are those of one line for a shell, which begins in the root of the tree. A folder in a variable is any module's.
func patterns(line string, modules []string) (found []pattern) {
	places := []place{{dirs: []string{"."}}}
	var words []string
	for _, w := range word.FindAllString(quote.ReplaceAllString(line, "")+" ;", -1) {
		if !strings.Contains("();&|", w) {
			words = append(words, strings.Trim(w, `"`))
			continue
		}
		here := &places[len(places)-1]
		found = append(found, here.run(words, modules)...)
		words = nil
		switch {
		case w == "(":
			places = append(places, *here)
		case w == ")" && len(places) > 1:
			places = places[:len(places)-1]
		}
	}
	return found
}

// run returns the patterns of one command, and notes what it changes for those after it.
func (p *place) run(words, modules []string) (found []pattern) {
	its := *p
	for ; len(words) > 0 && start.MatchString(words[0]); words = words[1:] {
		its.alone = its.alone || words[0] == "GOWORK=off"
	}
	if len(words) < 2 || words[0] == "for" { // a list of folders
		return nil
	}
	switch words[0] {
	case "export":
		p.alone = p.alone || slices.Contains(words, "GOWORK=off")
	case "cd":
		p.dirs = within(p.dirs, words[1], modules)
		return nil
	}
	if i := slices.Index(words, "-C"); i > 0 && i+1 < len(words) {
		its.dirs = within(its.dirs, words[i+1], modules)
	}
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "./") || w == "." && words[0] == "go" {
			for _, dir := range its.dirs {
				found = append(found, pattern{dir, w, its.alone})
			}
		}
	}
	return found
}

func within(dirs []string, to string, modules []string) (inner []string) {
	if strings.Contains(to, "$") {
		return modules
	}
	for _, dir := range dirs {
		inner = append(inner, filepath.Join(dir, to))
	}
	return inner
}

// lacks says why a pattern matches nothing in a tree.
func (p pattern) lacks(tree string, modules []string) string {
	folder, all := strings.CutSuffix(p.text, "/...")
	folder = filepath.Join(p.dir, folder)
	module := moduleOf(tree, folder)
	switch {
	case p.alone && module != moduleOf(tree, p.dir):
		return fmt.Sprintf("%s, in %s and without go.work: it is of another module", p.text, p.dir)
	case !slices.Contains(modules, module):
		return fmt.Sprintf("%s, in %s: its module is not one of go.work", p.text, p.dir)
	case hasGo(filepath.Join(tree, folder)):
		return ""
	}
	if all && slices.ContainsFunc(below(filepath.Join(tree, folder)), hasGo) {
		return ""
	}
	return fmt.Sprintf("%s, in %s: no Go files", p.text, p.dir)
}

// moduleOf is the folder of the module that a folder of a tree belongs to.
func moduleOf(tree, folder string) string {
	for folder != "." && !exists(filepath.Join(tree, folder, "go.mod")) {
		folder = filepath.Dir(folder)
	}
	return folder
}

// below are the folders in which the go command looks for what a pattern with ... matches: not those of other modules.
func below(folder string) (found []string) {
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || name == folder {
			return err
		}
		base := entry.Name()
		if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || exists(filepath.Join(name, "go.mod")) {
			return fs.SkipDir
		}
		found = append(found, name)
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}

func hasGo(folder string) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	return err == nil && len(files) > 0
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// What matches nothing is noticed, wherever the command runs.
func TestPatternsAreChecked(t *testing.T) {
	t.Parallel()
	tree := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "", "go.work": "go 1.26.0\n\nuse (\n\t.\n\t./cmd/tool\n\t./proof\n)\n", "lock.go": "", "cmd/tool/go.mod": "",
		"cmd/tool/main.go": "", "proof/go.mod": "", "proof/test/line/line_test.go": "", "docs/a.md": "", "other/go.mod": "", "other/a.go": "",
		"testdata/a.go": "", "rig/.old/a.go": "",
	} {
		name = filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modules := modulesOf(t, tree)
	for line, want := range map[string]string{
		"go test . ./... ./cmd/tool ./cmd/tool/... ./proof/... ./proof/test/line": "",
		"go vet ./cmd/...":                                   "./cmd/..., in .: no Go files",
		"go test ./...;go vet ./rig/...":                     "./rig/..., in .: no Go files",
		"go test -run '^Test(A|B)$' ./gone 2>&1 || status=1": "./gone, in .: no Go files",
		"go test ./proof":                                    "./proof, in .: no Go files",
		"go test ./docs":                                     "./docs, in .: no Go files",
		"go test ./other":                                    "./other, in .: its module is not one of go.work",
		"go test ./other/...":                                "./other/..., in .: its module is not one of go.work",
		"cd proof && go test ./test/line":                    "",
		"cd proof/test && go run . -o ../../docs":            "., in proof/test: no Go files",
		"(cd proof; go vet ./test/...); go vet ./test/...":   "./test/..., in .: no Go files",
		"GOWORK=off go build -C proof -o x ./test/line; go vet ./proof/test/line":       "",
		"go build -C proof ./proof/test/line":                                           "./proof/test/line, in proof: no Go files",
		"GOWORK=off go vet ./proof/test/line":                                           "./proof/test/line, in . and without go.work: it is of another module",
		"{ race=; export GOWORK=off; go test $race ./cmd/tool; }":                       "./cmd/tool, in . and without go.work: it is of another module",
		`for dir in . ./proof; do (cd "$dir" && lint run ./...) || status=1; done`:      "",
		`for dir in . ./proof; do (cd "$dir" && lint run ./test/...) || status=1; done`: "./test/..., in .: no Go files",
		"go test -json $(go list ./gone/... | grep -v a) ./...":                         "./gone/..., in .: no Go files",
	} {
		var got []string
		for _, p := range patterns(line, modules) {
			if lack := p.lacks(tree, modules); lack != "" {
				got = append(got, lack)
			}
		}
		if len(got) == 0 {
			got = []string{""}
		}
		if got[0] != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
