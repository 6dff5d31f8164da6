package main

import (
	"os"
	"path/filepath"
	"testing"
)

const page = "# Costs\n\n<!-- compare one -->\nold\n<!-- /compare one -->\n\nBetween.\n\n<!-- compare two -->\n<!-- /compare two -->\nEnd.\n"

func TestRewrite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing more
		if err := rewrite(file, []part{{"one", "1\n"}, {"two", "| 2 |\n"}}); err != nil {
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
	for name, parts := range map[string][]part{
		"no mark": {{"one", "new\n"}, {"three", "3\n"}},
	} {
		if err := rewrite(file, parts); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if got, _ := os.ReadFile(file); string(got) != want {
			t.Errorf("%s: got %q, want it as it was", name, got)
		}
	}
}

// The page of this repo has a place for each part.
func TestPageHasAllParts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/costs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range example().parts() {
		if _, err := p.into(string(text)); err != nil {
			t.Error(err)
		}
	}
}
