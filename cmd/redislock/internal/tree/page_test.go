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

// partsOf returns how many there are of each element of a page, which must be well formed.
func partsOf(t *testing.T, page string) map[string]int {
	t.Helper()
	parts := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return parts
		}
		check.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			parts[e.Name.Local]++
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || a.Name.Local == "src" {
					t.Errorf("%s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

// What strangers have written is text and nothing else, and nothing comes from elsewhere.
func TestPageOfStrangers(t *testing.T) {
	t.Parallel()
	states := statesOf("a w A < B:w1 C:w3 p:r4 p:r5", "b w B < A:w2", "c w ~A < C:w3", "d r C q < s:w6 intent:x", "e x < s:w7", "f w p")
	plain := partsOf(t, pageOf(t, viewOf(t, states)))
	states[0].Key = `</text><script>alert(1)</script>&lt;` + "\x1b]0;\xff"
	states[3].Holders[1].Metadata = `</title>"><img src=x onerror=alert(1)>`
	states[0].Line[0].Metadata = `'"` + "`</style><iframe>"
	states[4].Type = "<b>"
	page := pageOf(t, viewOf(t, states))
	if parts := partsOf(t, page); !maps.Equal(parts, plain) {
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
		{"a w A < B:w1; b w B < A:w2", "certain", "possible", "Deadlock 1, certain:</strong> B waits for a, which is held by A; A waits for b, which is held by B."},
		{"a w p < q:w1; b w q < p:w2", "possible", "certain", "Deadlock 1, possible:</strong> q waits for a, which is held by p; p waits for b, which is held by q. Not certain: "},
	} {
		page := pageOf(t, viewOf(t, statesOf(tt.states, "z w z < y:w9")))
		if !strings.Contains(page, tt.want) {
			t.Errorf("no %q in\n%s", tt.want, page)
		}
		for what, want := range map[string]int{`<path class="%s"`: 4, `<g class="%s"`: 6, `<text class="label %s"`: 4} {
			if got, not := strings.Count(page, fmt.Sprintf(what, tt.class)), strings.Count(page, fmt.Sprintf(what, tt.other)); got != want || not != 0 {
				t.Errorf("%s: %d of %s, and %d of %s, want %d and 0", tt.states, got, what, not, tt.other, want)
			}
		}
	}
	if page := pageOf(t, viewOf(t, statesOf("a w A < B:w1", "c r C D"))); strings.Contains(page, "Deadlock") || strings.Contains(page, `class="certain`) {
		t.Errorf("nobody is in a circle:\n%s", page)
	}
	if page := pageOf(t, viewOf(t, nil)); strings.Contains(page, "<svg") || !strings.Contains(page, "0 keys are waited for, 0 requests.") {
		t.Errorf("nobody waits:\n%s", page)
	}
}

// No box covers another one, none is beneath the picture, and each end of an edge is at a box, where no other edge of a party ends.
func TestPageLayout(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		v := viewOf(t, randomStates(rand.New(rand.NewPCG(seed, 7))))
		p := v.page()
		for i, a := range p.Nodes {
			if a.Y+a.Height > p.Height {
				t.Fatalf("seed %d: a box ends at %d of %d", seed, a.Y+a.Height, p.Height)
			}
			for _, b := range p.Nodes[:i] {
				if a.X == b.X && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
					t.Fatalf("seed %d: boxes at %d and %d cover each other", seed, a.Y, b.Y)
				}
			}
		}
		ends := map[[2]int]bool{}
		for _, e := range p.Edges {
			atBox := func(x, y int) bool {
				return slices.ContainsFunc(p.Nodes, func(n *pageNode) bool { return x == n.X && n.Y < y && y < n.Y+n.Height })
			}
			at, left, right := [2]int{e.X, e.Y}, [2]int{e.KeyX, e.KeyY}, [2]int{e.X, e.Y}
			if e.Aside > 0 {
				left, right = right, left
			}
			if !atBox(left[0]-pageWidth, left[1]) || !atBox(right[0], right[1]) || ends[at] {
				t.Fatalf("seed %d: an edge is in the air, or meets another: %+v", seed, e)
			}
			ends[at] = true
		}
	}
}

// What belongs to one key stands side by side.
func TestPageRows(t *testing.T) {
	t.Parallel()
	rows := map[string]int{}
	for _, n := range viewOf(t, statesOf("a w A < B:w1 C:w2", "b w D < E:w3")).page().Nodes {
		rows[n.Full] = n.Y
	}
	if rows["a"] != rows["A"] || rows["a"] != rows["B"] || rows["b"] != rows["D"] || rows["b"] != rows["E"] || rows["b"] <= rows["C"] {
		t.Errorf("got %v", rows)
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
