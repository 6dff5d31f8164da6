package page_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-14de3678/redislock/proof/internal/page"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]page.Count{
		"All of 5 limits hold.\n":                                                            {All: 5},
		"Of 5 limits 3 hold, and of 2 there is no conclusion.\n":                             {All: 5, Open: 2},
		"Of 5 limits 3 hold. These do not hold:\n\n| a |\n":                                  {All: 5, Broken: 2},
		"Of 5 limits 2 hold, and of 1 there is no conclusion. These do not hold:\n\n| a |\n": {All: 5, Broken: 2, Open: 1},
	} {
		if got := c.Text("limits", "| a |\n"); got != want {
			t.Errorf("%+v: got %q, want %q", c, got, want)
		}
	}
}

const costs = "# Costs\n\n<!-- compare one -->\nold\n<!-- /compare one -->\n\nBetween.\n\n<!-- compare two -->\n<!-- /compare two -->\nEnd.\n"

func TestRewrite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "costs.md")
	if err := os.WriteFile(file, []byte(costs), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing more
		if err := page.Rewrite(file, []page.Part{{Name: "one", Text: "1\n"}, {Name: "two", Text: "| 2 |\n"}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = "# Costs\n\n<!-- compare one -->\n1\n<!-- /compare one -->\n\nBetween.\n\n<!-- compare two -->\n| 2 |\n<!-- /compare two -->\nEnd.\n"
	if string(got) != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for name, parts := range map[string][]page.Part{
		"no mark": {{Name: "one", Text: "new\n"}, {Name: "three", Text: "3\n"}},
	} {
		if err := page.Rewrite(file, parts); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if got, _ := os.ReadFile(file); string(got) != want {
			t.Errorf("%s: got %q, want it as it was", name, got)
		}
	}
}
