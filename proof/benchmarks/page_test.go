package main

import (
	"os"
	"testing"

	"github.com/seed-14de3678/redislock/proof/internal/page"
)

func costs(t *testing.T) string {
	t.Helper()
	return content(t, "../../docs/costs.md")
}

func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page of this repo has a place for each part.
func TestPageHasAllParts(t *testing.T) {
	t.Parallel()
	text := costs(t)
	for _, p := range example().parts() {
		if _, err := p.Into(text); err != nil {
			t.Error(err)
		}
	}
}

// settings are what the page may say of numbers with a unit: nobody has measured them.
var settings = []string{
	"1 ms",             // after which all callers of the row polling ask again
	"1 Gbit", "125 MB", // what a network is sold as
}

// A figure that is written by hand is not measured anew with the tables, and contradicts them some day.
func TestPageHasNoFiguresByHand(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../../docs/costs.md", "../../docs/measurements.md"} {
		if found := page.Figures(content(t, file), settings...); len(found) > 0 {
			t.Errorf("%s: these figures are written by hand: %q; let a part of the page have them, or leave them out", file, found)
		}
	}
	for text, want := range map[string]int{
		"while nothing moves 200 commands/s, 2.6 MiB": 2, "1.2 to 1.4 times as many": 1, "some 20 ms, its 12 KiB buy that": 2,
		"asks again after 1 ms, with 10 000 keys": 0, "<!-- compare short -->\n| 4 ms |\n<!-- /compare short -->\n": 0, "0.8 % of a core": 1,
	} {
		if got := page.Figures(text, settings...); len(got) != want {
			t.Errorf("%s: got %q, want %d", text, got, want)
		}
	}
}
