package page

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listPath is the list of the quick suite.
const listPath = "test/promises.md"

// The list of the quick suite has each sentence of what the README guarantees, in its order, and no other; and for each of them
// tests that are there, and that a run of the root alone has.
func TestListOfTheQuickSuite(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	for _, wrong := range wrongWith(readme, Read(read(t, listPath)), lackingIn(t)) {
		t.Errorf("%s: %s", listPath, wrong)
	}
	if n := len(Sentences(readme)); n < 10 {
		t.Errorf("read %d sentences of the README", n)
	}
}

// lackingIn says what of a test the root module does not have.
func lackingIn(t *testing.T) func(Test) string {
	t.Helper()
	folders := map[string]*sources{}
	return func(test Test) string {
		for folder := test.Folder; folder != "."; folder = path.Dir(folder) {
			if _, err := os.Stat(filepath.Join(root, folder, "go.mod")); err == nil {
				return fmt.Sprintf("test in the root: %s is a module of its own", folder)
			}
		}
		if folders[test.Folder] == nil {
			folders[test.Folder] = sourcesOf(t, test.Folder, "*_test.go")
		}
		return folders[test.Folder].lacks(test.Name)
	}
}

// wrongWith says what is wrong with a list: lack says of a test what is not there.
func wrongWith(readme string, list *Page, lack func(Test) string) (wrong []string) {
	plain := func(text, page string) string { return strings.ReplaceAll(FromRoot(text, page), "**", "") }
	var said, quoted []string
	for _, s := range Sentences(readme) {
		said = append(said, plain(s, "README.md"))
	}
	for _, p := range list.Promises {
		text := plain(p.Text, listPath)
		quoted = append(quoted, text)
		if !slices.Contains(said, text) {
			wrong = append(wrong, "the README does not say: "+text)
		}
		if len(p.Tests) == 0 {
			wrong = append(wrong, "no test is named for: "+text)
		}
		for _, test := range p.Tests {
			if what := lack(test); what != "" {
				wrong = append(wrong, fmt.Sprintf("%s: no %s", test, what))
			}
		}
	}
	for _, s := range said {
		if !slices.Contains(quoted, s) {
			wrong = append(wrong, "lacks: "+s)
		}
	}
	if wrong == nil && !slices.Equal(said, quoted) {
		wrong = append(wrong, "the order is not that of the README")
	}
	return wrong
}

// What a list may have wrong is noticed.
func TestListIsChecked(t *testing.T) {
	t.Parallel()
	const readme = "# r\n\n## What is guaranteed\n\n- **One.** It\n  holds. So it is.\n- **A lock is live** from `a. b` on: 1 % and\n" +
		"  2 ms. See. [All errors](docs/errors.md).\n\n## What is not\n\nNothing. At all.\n"
	want := []string{"It holds.", "So it is.", "**A lock is live** from `a. b` on: 1 % and 2 ms.", "See."}
	if diff := cmp.Diff(want, Sentences(readme)); diff != "" {
		t.Fatalf("sentences (-want +got):\n%s", diff)
	}
	const (
		one, two = "> It holds.\n\n- Tests: `. TestA`\n\n", "> So\n> it is.\n\n- Tests: `. TestA`, `TestB`\n\n"
		rest     = "> **A lock is live** from `a. b` on: 1 % and 2 ms.\n\n- Tests: `. TestA`\n\n> See.\n\n- Tests: `. TestA`\n"
	)
	lack := func(test Test) string {
		if test != (Test{".", "TestA"}) && test != (Test{".", "TestB"}) {
			return "such test"
		}
		return ""
	}
	for list, want := range map[string][]string{
		one + two + rest: nil,
		one + two + strings.ReplaceAll(rest, "**", ""): nil,
		two + one + rest:       {"the order is not that of the README"},
		one + two + one + rest: {"the order is not that of the README"},
		one + rest:             {"lacks: So it is."},
		one + two + "> Or not.\n\n- Tests: `. TestA`\n\n" + rest:            {"the README does not say: Or not."},
		one + strings.Replace(two, "it is", "is it", 1) + rest:              {"the README does not say: So is it.", "lacks: So it is."},
		one + "> So it is.\n\n" + rest:                                      {"no test is named for: So it is."},
		one + "> So it is.\n\n- By hand: `. TestA`\n\n" + rest:              {"no test is named for: So it is."},
		one + strings.Replace(two, "TestB", "TestC", 1) + rest:              {". TestC: no such test"},
		strings.Replace(one, ". TestA", "proof/page TestA", 1) + two + rest: {"proof/page TestA: no such test"},
	} {
		if diff := cmp.Diff(want, wrongWith(readme, Read(list), lack)); diff != "" {
			t.Errorf("%s\nwrong (-want +got):\n%s", list, diff)
		}
	}
	lack = lackingIn(t)
	for test, want := range map[Test]string{
		{".", "TestObtain"}: "", {".", "TestNothing"}: "such test", {"proof/page", "TestRead"}: "test in the root: proof is a module of its own",
		{"redislockotel", "TestA"}: "test in the root: redislockotel is a module of its own",
	} {
		if got := lack(test); got != want {
			t.Errorf("%s: lacks %q, want %q", test, got, want)
		}
	}
}
