package page

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
)

// How many words a page of docs may have, and all of them together. A page that somebody reads from its beginning is short; one in
// which somebody looks something up may have more.
const (
	mostOfPage      = 1500
	mostOfReference = 3000
	mostOfAll       = 25000
)

// references are the pages in which somebody looks something up.
var references = []string{"errors.md", "format.md", "metrics.md", "proof.md", "rights.md"}

// A page that grows beyond its limit says something that another page says, or what a reader does not need: link it, or leave it out.
func TestDocsAreShort(t *testing.T) {
	t.Parallel()
	words := map[string]int{}
	for _, file := range check.Must[[]string](t)(filepath.Glob("docs/*.md")) {
		words[filepath.Base(file)] = len(strings.Fields(content(t, file)))
	}
	for _, long := range tooLong(words) {
		t.Error(long)
	}
	if len(words) < 10 {
		t.Errorf("found %d pages", len(words))
	}
}

// tooLong says which pages have too many words.
func tooLong(words map[string]int) (found []string) {
	all := 0
	for name, n := range words {
		all += n
		most := mostOfPage
		if slices.Contains(references, name) {
			most = mostOfReference
		}
		if n > most {
			found = append(found, fmt.Sprintf("docs/%s has %d words, want at most %d", name, n, most))
		}
	}
	slices.Sort(found)
	if all > mostOfAll {
		found = append(found, fmt.Sprintf("docs has %d words, want at most %d", all, mostOfAll))
	}
	return found
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	if got := tooLong(map[string]int{"waiting.md": 1500, "errors.md": 3000}); got != nil {
		t.Errorf("of pages that are as long as they may be: got %q", got)
	}
	want := []string{
		"docs/errors.md has 3001 words, want at most 3000", "docs/waiting.md has 1501 words, want at most 1500",
		"docs has 25001 words, want at most 25000",
	}
	words := map[string]int{"waiting.md": 1501, "errors.md": 3001}
	for i := range 14 {
		words[fmt.Sprintf("%d.md", i)] = 1464
	}
	words["rest.md"] = 25001 - 1501 - 3001 - 14*1464
	if diff := cmp.Diff(want, tooLong(words)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
