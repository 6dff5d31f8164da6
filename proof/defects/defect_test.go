package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/proof/plant"
)

const good = `# A comment.

defect first
why nobody is told
test . TestA
in a.go (*T).f
- one
-
- 	two

# Another.
defect second-2
why it is not cut
test dir/sub TestB/a_case,_#1 20s
in a.go f
- three
+ four
+
- five
in b.lua
- x
+ y
`

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse("f.txt", good)
	if err != nil {
		t.Fatal(err)
	}
	want := []defect{
		{
			name: "first", at: "f.txt:3", why: "nobody is told", dir: ".", test: "TestA", limit: time.Minute,
			edits: []edit{{file: "a.go", name: "(*T).f", old: []string{"one", "", "\ttwo"}}},
		},
		{
			name: "second-2", at: "f.txt:12", why: "it is not cut",
			dir: "dir/sub", test: "TestB/a_case,_#1", limit: 20 * time.Second,
			edits: []edit{
				{file: "a.go", name: "f", old: []string{"three"}, new: []string{"four", ""}},
				{file: "a.go", name: "f", old: []string{"five"}},
				{file: "b.lua", old: []string{"x"}, new: []string{"y"}},
			},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(defect{}, edit{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseBad(t *testing.T) {
	t.Parallel()
	const head = "defect d\nwhy it is so\ntest . TestA\n"
	for text, want := range map[string]string{
		"some text":                              `f.txt:1: a defect begins with its name`,
		"defect A b":                             `f.txt:1: a defect begins with its name`,
		"defect d\ntest . TestA\nin a.go f\n- x": `f.txt:5: d needs a why, a test and a change`,
		head:                                     `f.txt:4: d needs a why, a test and a change`,
		head + "why again":                       `f.txt:4: "why" is not known, or not here`,
		head + "test . TestB":                    `f.txt:4: "test" is not known, or not here`,
		head + "- x":                             `f.txt:4: "-" is not known, or not here`,
		head + "in a.go f\n+ x":                  `f.txt:6: d: nothing of a.go changes`,
		head + "in a.go f\n- x y\n+ x\n+ \ty":    `f.txt:8: d: nothing of a.go changes`,
		head + "in a.go":                         `f.txt:4: "a.go" is not a Go file of the tree and a declaration`,
		head + "in ../a.go f":                    `f.txt:4: "../a.go f" is not a Go file`,
		head + "in README.md":                    `f.txt:4: "README.md" is not a Go file`,
		head + "in a.go f\n- x\ndefect n":        `f.txt:6: "defect" is not known, or not here; between two defects there is`,
		"defect d\ntest / TestA":                 `f.txt:2: "/ TestA" is not a folder of the tree and a test`,
		"defect d\ntest .":                       `f.txt:2: "." is not a folder`,
		"defect d\ntest . BenchmarkA":            `f.txt:2: ". BenchmarkA" is not a folder`,
		"defect d\ntest . TestA soon":            `f.txt:2: ". TestA soon" is not a folder`,
		"defect d\ntest . TestA 0s":              `f.txt:2: ". TestA 0s" is not a folder`,
	} {
		_, err := parse("f.txt", text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("of %q it says %v, want %q", text, err, want)
		}
	}
}

// The files are read together, and no two defects have one name.
func TestReadAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.txt": good, "b.txt": good, "c.go": "not read"})
	_, err := readAll(dir)
	if err == nil || !strings.Contains(err.Error(), "b.txt:3: a.txt:3 has this name already") {
		t.Errorf("got %v, want that a name is there twice", err)
	}
	write(t, dir, map[string]string{"b.txt": "# empty\n"})
	got, err := readAll(dir)
	if err != nil || len(got) != 2 {
		t.Errorf("got %d defects, %v, want 2", len(got), err)
	}
}

// Each of the list can be planted in this tree, and there is a test that has to notice it.
func TestAllApply(t *testing.T) {
	t.Parallel()
	all, err := readAll(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if err := d.check(filepath.Join("..", "..")); err != nil {
			t.Errorf("%s: %s: %v", d.at, d.name, err)
		}
	}
}

// What can be seen without a run: a second change of a file finds what the first one has left.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "package a\n\nfunc f() int { return 1 }\n", "a_test.go": "package a\n\nfunc TestA(t *testing.T) {}\n"})
	d := defect{test: "TestA/b", dir: ".", edits: []edit{
		{file: "a.go", name: "f", old: []string{"1"}, new: []string{"2"}},
		{file: "a.go", name: "f", old: []string{"2"}, new: []string{"3"}},
	}}
	if err := d.check(dir); err != nil {
		t.Error(err)
	}
	if got, err := d.apply(dir); err != nil || got["a.go"] != "package a\n\nfunc f() int { return 3 }\n" {
		t.Errorf("got %q, %v", got, err)
	}
	for want, change := range map[string]func(*defect){
		". has no test TestB": func(d *defect) { d.test = "TestB/b" },
		"with it: a.go:3:":    func(d *defect) { d.edits = []edit{{file: "a.go", name: "f", old: []string{"1 }"}}} },
		"no such file":        func(d *defect) { d.edits = []edit{{file: "b.go", name: "f", old: []string{"1"}}} },
	} {
		bad := d
		change(&bad)
		if err := bad.check(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s, err := parseSettings([]string{"-run", "^a", "-part", "2/3", "-jobs", "4", "-list"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if s.pattern.String() != "^a" || (s.part != plant.Part{At: 2, Of: 3}) || s.jobs != 4 || !s.list || !filepath.IsAbs(s.root) {
		t.Errorf("got %+v", s)
	}
	for _, args := range [][]string{
		{"-part", "0/3"}, {"-part", "4/3"}, {"-part", "2"}, {"-part", "a/b"}, {"-jobs", "0"}, {"-run", "("}, {"x"},
	} {
		if _, err := parseSettings(args, t.Output()); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// Each defect is in one part.
func TestWanted(t *testing.T) {
	t.Parallel()
	var all []defect
	for _, name := range []string{"a1", "b1", "a2", "a3", "a4", "b2", "a5"} {
		all = append(all, defect{name: name})
	}
	for part, want := range map[int][]string{1: {"a1", "a3", "a5"}, 2: {"a2", "a4"}} {
		var got []string
		for _, m := range (settings{pattern: regexp.MustCompile("^a"), part: plant.Part{At: part, Of: 2}}).wanted(all) {
			got = append(got, m.name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("part %d: %s", part, diff)
		}
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
