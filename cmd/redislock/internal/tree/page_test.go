package tree

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// pageOf returns the page of some states.
func pageOf(t *testing.T, v *view) string {
	t.Helper()
	var b bytes.Buffer
	check.NoError(t, v.writeHTML(&b))
	return b.String()
}

// partsOf returns how many there are of each element of a page, which must be well formed, and where its links lead: to another
// part of it, each.
func partsOf(t *testing.T, page string) (parts map[string]int, links []string) {
	t.Helper()
	parts = map[string]int{}
	ids := map[string]bool{}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		check.NoError(t, err)
		e, _ := token.(xml.StartElement)
		parts[e.Name.Local]++
		for _, a := range e.Attr {
			switch name := a.Name.Local; {
			case name == "id" && !ids[a.Value]:
				ids[a.Value] = true
			case name == "href" && strings.HasPrefix(a.Value, "#"):
				links = append(links, a.Value[1:])
			case name == "id" || name == "href" || name == "src" || strings.HasPrefix(name, "on"):
				t.Errorf("%s has %s=%q", e.Name.Local, name, a.Value)
			}
		}
	}
	for _, link := range links {
		if !ids[link] {
			t.Errorf("a link leads to %q, which is not there", link)
		}
	}
	return parts, links
}

// What strangers have written is text and nothing else, and nothing comes from elsewhere.
func TestPageOfStrangers(t *testing.T) {
	t.Parallel()
	states := statesOf("a w A < B:w1 C:w3 p:r4 p:r5", "b w B < A:w2", "c w ~A < C:w3", "d r C q < s:w6 intent:x", "e x < s:w7", "f w p")
	plain, _ := partsOf(t, pageOf(t, viewOf(t, states)))
	states[0].Key = `</text><script>alert(1)</script>&lt;` + "\x1b]0;\xff"
	states[3].Holders[1].Metadata = `</title>"><img src=x onerror=alert(1)>`
	states[0].Line[0].Metadata = `'"` + "`</style><iframe>"
	states[4].Type = "<b>"
	page := pageOf(t, viewOf(t, states))
	if parts, _ := partsOf(t, page); !maps.Equal(parts, plain) {
		t.Errorf("the page has the elements %v, want %v", parts, plain)
	}
	for _, word := range []string{"<script", "http:", "https:", "url(", "@import", "\x1b", "ZgotmplZ"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q", word)
		}
	}
	if !strings.Contains(page, "prefers-color-scheme: dark") || !strings.Contains(page, "&lt;script&gt;") {
		t.Error("the page has one colour, or leaves out what the key is called")
	}
}

// A circle is marked, certain or not, and told in a sentence.
func TestPageOfCircles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ states, class, other, want string }{
		{"a w A < B:w1; b w B < A:w2", "certain", "possible", "Deadlock 1, certain: B waits for a, which is held by A; A waits for b, which is held by B."},
		{"a w p < q:w1; b w q < p:w2", "possible", "certain", "Deadlock 1, possible: q waits for a, which is held by p; p waits for b, which is held by q. Not certain: "},
	} {
		page := pageOf(t, viewOf(t, statesOf(tt.states, "z w z < y:w9")))
		if !strings.Contains(page, tt.want) {
			t.Errorf("no %q in\n%s", tt.want, page)
		}
		for what, want := range map[string]int{`<li class="%s"`: 8, `" class="%s">`: 4} {
			if got, not := strings.Count(page, fmt.Sprintf(what, tt.class)), strings.Count(page, fmt.Sprintf(what, tt.other)); got != want || not != 0 {
				t.Errorf("%s: %d of %s, and %d of %s, want %d and 0", tt.states, got, what, not, tt.other, want)
			}
		}
	}
	if page := pageOf(t, viewOf(t, statesOf("a w A < B:w1", "c r C D"))); strings.Contains(page, "Deadlock") || strings.Contains(page, `class="certain`) {
		t.Errorf("nobody is in a circle:\n%s", page)
	}
	if page := pageOf(t, viewOf(t, nil)); strings.Contains(page, "<table") || !strings.Contains(page, "0 keys are waited for, 0 requests.") {
		t.Errorf("nobody waits:\n%s", page)
	}
}

// Of each key that somebody waits for all holders and waiters are there, and of each of these the key.
func TestPageIsComplete(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		v := viewOf(t, randomStates(rand.New(rand.NewPCG(seed, 7))))
		var want []string
		add := func(state, party int) {
			if party != nobody {
				want = append(want, fmt.Sprint("k", state+1), partyID(party))
			}
		}
		for state, line := range v.lines {
			for _, s := range line {
				add(state, v.requests[s.request].party)
			}
			for _, party := range v.holders[state] {
				if len(line) > 0 {
					add(state, party)
				}
			}
		}
		_, links := partsOf(t, pageOf(t, v))
		slices.Sort(links)
		slices.Sort(want)
		if !slices.Equal(links, want) {
			t.Fatalf("seed %d: links to %v, want %v: %v", seed, links, want, v.states)
		}
	}
}

// Holders stand on the left of a key, and those who wait on the right; of a party, what it waits for stands on the left.
func TestPageSides(t *testing.T) {
	t.Parallel()
	rows := strings.Split(pageOf(t, viewOf(t, statesOf("a w A < B:w1", "b w B ~C < D:r2"))), "</tr>")
	for _, want := range []string{
		`#p1">A</a> .*<b>a</b> <small>write</small>.*#p2">B</a> <small>1. write, `, `#p2">B</a> .*somebody <small>has left the key.*<b>b</b> .*#p3">D</a> <small>1. read, `,
		`#k1">a</a> .*<b>B</b> .*#k2">b</a> <small>write, `,
	} {
		if !slices.ContainsFunc(rows, regexp.MustCompile(`(?s)<td><ul>\s*<li class="[^"]*"><a href="`+want).MatchString) {
			t.Errorf("no %s in\n%s", want, rows)
		}
	}
}

// A file has the whole page or what it had before, also if it is named by a link.
func TestWritePage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, link := filepath.Join(folder, "page.html"), filepath.Join(folder, "link")
	check.NoError(t, os.Symlink(path, link))
	say := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		}
	}
	failed := errors.New("failed")
	check.NoError(t, writePage(path, nil, say("one", nil)))
	if err := writePage(path, nil, say("half", failed)); !errors.Is(err, failed) {
		t.Errorf("error %v, want %v", err, failed)
	}
	if got := check.Must[[]byte](t)(os.ReadFile(path)); string(got) != "one" {
		t.Errorf("the file has %q, want what it had", got)
	}
	check.NoError(t, writePage(link, nil, say("two", nil)))
	if got := check.Must[[]byte](t)(os.ReadFile(path)); string(got) != "two" {
		t.Errorf("through a link the file has %q", got)
	}
	if entries := check.Must[[]os.DirEntry](t)(os.ReadDir(folder)); len(entries) != 2 || entries[0].Type() != os.ModeSymlink {
		t.Errorf("the folder has %v, want the page and the link", entries)
	}
	var b bytes.Buffer
	if err := writePage("-", &b, say("four", nil)); err != nil || b.String() != "four" {
		t.Errorf("error %v, %q on standard output", err, &b)
	}
	if err := writePage(filepath.Join(folder, "no", "page"), nil, say("five", nil)); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("a folder that is not there: error %v", err)
	}
}
