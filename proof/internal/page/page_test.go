package page_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-14de3678/redislock/proof/internal/page"
)

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
