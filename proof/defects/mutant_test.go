package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const good = `# A comment.

mutant first
why nobody is told
test . TestA
file a.go
-	one
-
-	two

# Another.
mutant second-2
why it is not cut
test dir/sub TestB/a_case,_#1 20s
file a.go
-	three
+	four
+
file b.lua
-x
+y
`

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse("f.txt", good)
	if err != nil {
		t.Fatal(err)
	}
	want := []mutant{
		{
			name: "first", at: "f.txt:3", why: "nobody is told", dir: ".", test: "TestA", limit: time.Minute,
			edits: []edit{{file: "a.go", old: []string{"\tone", "", "\ttwo"}}},
		},
		{
			name: "second-2", at: "f.txt:12", why: "it is not cut",
			dir: "dir/sub", test: "TestB/a_case,_#1", limit: 20 * time.Second,
			edits: []edit{
				{file: "a.go", old: []string{"\tthree"}, new: []string{"\tfour", ""}},
				{file: "b.lua", old: []string{"x"}, new: []string{"y"}},
			},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mutant{}, edit{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseBad(t *testing.T) {
	t.Parallel()
	const head = "mutant m\nwhy it is so\ntest . TestA\n"
	for text, want := range map[string]string{
		"some text":                                         `f.txt:1: a mutant begins with its name: mutant NAME`,
		"mutant A b\n" + head[len("mutant m"):]:             `f.txt:1: the name "A b" is not made of`,
		"mutant m\ntest . TestA\nfile a\n-x":                `f.txt:1: m needs a why, a test and a file`,
		"mutant m\nwhy x\nfile a\n-x":                       `f.txt:1: m needs a why, a test and a file`,
		head:                                                `f.txt:1: m needs a why, a test and a file`,
		head + "why again\nfile a\n-x":                      `f.txt:4: one why`,
		head + "test . TestB\nfile a\n-x":                   `f.txt:4: one test`,
		head + "-x":                                         `f.txt:4: no file is named for this line`,
		head + "file a\n+x":                                 `f.txt:1: m: no line of a is named that goes`,
		head + "file a\n-x\n+x":                             `f.txt:1: m: nothing of a changes`,
		head + "file a\n-x\n+y\n-z":                         `f.txt:7: a second '-' after '+'`,
		head + "file ../a\n-x":                              `f.txt:4: "../a" is not a file of the tree`,
		head + "file a\n-x\n x":                             `f.txt:6: "" is not known`,
		head + "file a\n-x\nmutant n":                       `f.txt:6: "mutant" is not known; between two mutants there is a blank line`,
		"mutant m\nwhy x\ntest / TestA\nfile a\n-x":         `f.txt:3: "/" is not a folder of the tree`,
		"mutant m\nwhy x\ntest .\nfile a\n-x":               `f.txt:3: one test, as`,
		"mutant m\nwhy x\ntest . BenchmarkA\nfile a\n-x":    `f.txt:3: "BenchmarkA" is not the name of a test`,
		"mutant m\nwhy x\ntest . TestA soon\nfile a\n-x":    `f.txt:3: "soon" is not a time`,
		"mutant m\nwhy x\ntest . TestA 0s\nfile a\n-x":      `f.txt:3: "0s" is not a time`,
		"mutant m\nwhy x\ntest . TestA 1s 2s\nfile a\n-x\n": `f.txt:3: one test, as`,
	} {
		_, err := parse("f.txt", text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("of %q it says %v, want %q", text, err, want)
		}
	}
}

// The files are read together, and no two mutants have one name.
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
		t.Errorf("got %d mutants, %v, want 2", len(got), err)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "one\n2\n2\nthree\n one\n"})
	for name, c := range map[string]struct{ old, new, want, err string }{
		"in the middle":     {old: "2\nthree", new: "four", want: "one\n2\nfour\n one\n"},
		"nothing instead":   {old: "one", want: "2\n2\nthree\n one\n"},
		"whole lines":       {old: "thre", err: "are there 0 times"},
		"with their indent": {old: "  one", err: "are there 0 times"},
		"one after another": {old: "one\nthree", err: "are there 0 times"},
		"ambiguous":         {old: "2", err: "are there 2 times"},
	} {
		e := edit{file: "a", old: strings.Split(c.old, "\n")}
		if c.new != "" {
			e.new = strings.Split(c.new, "\n")
		}
		got, err := mutant{edits: []edit{e}}.apply(dir)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %q", name, err, c.err)
			}
		case err != nil || got["a"] != c.want:
			t.Errorf("%s: got %q, %v, want %q", name, got["a"], err, c.want)
		}
	}
	if _, err := (mutant{edits: []edit{{file: "b", old: []string{"x"}}}}).apply(dir); err == nil {
		t.Error("a file that is not there: no error")
	}
}

// A second edit of a file finds what the first one has left, and taking a mutant out leaves the file
// as it was.
func TestPlant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "one\ntwo\n"})
	m := mutant{edits: []edit{
		{file: "a", old: []string{"one"}, new: []string{"two"}},
		{file: "a", old: []string{"two", "two"}, new: []string{"three"}},
	}}
	restore, err := m.plant(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "a"); got != "three\n" {
		t.Errorf("got %q, want three", got)
	}
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "a"); got != "one\ntwo\n" {
		t.Errorf("afterwards %q", got)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s, err := parseSettings([]string{"-run", "^a", "-part", "2/3", "-jobs", "4", "-list"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	want := settings{root: ".", pattern: regexp.MustCompile("^a"), part: 2, parts: 3, jobs: 4, list: true}
	if s.pattern.String() != "^a" {
		t.Errorf("pattern %v", s.pattern)
	}
	if s.pattern = want.pattern; s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	for _, args := range [][]string{
		{"-part", "0/3"}, {"-part", "4/3"}, {"-part", "2"}, {"-part", "a/b"}, {"-jobs", "0"}, {"-run", "("}, {"x"},
	} {
		if _, err := parseSettings(args, t.Output()); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// Each mutant is in one part.
func TestWanted(t *testing.T) {
	t.Parallel()
	var all []mutant
	for _, name := range []string{"a1", "b1", "a2", "a3", "a4", "b2", "a5"} {
		all = append(all, mutant{name: name})
	}
	for part, want := range map[int][]string{1: {"a1", "a3", "a5"}, 2: {"a2", "a4"}} {
		var got []string
		for _, m := range (settings{pattern: regexp.MustCompile("^a"), part: part, parts: 2}).wanted(all) {
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

func read(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
