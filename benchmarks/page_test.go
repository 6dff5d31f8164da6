package main

import (
	"os"
	"testing"
)

// The page of this repo has a place for each part.
func TestPageHasAllParts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/costs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range example().parts() {
		if _, err := p.Into(string(text)); err != nil {
			t.Error(err)
		}
	}
}
