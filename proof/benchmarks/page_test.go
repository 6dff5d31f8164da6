package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func costs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/costs.md")
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

var (
	generated = regexp.MustCompile(`(?s)<!-- (compare [a-z ]+) -->\n.*?<!-- /compare [a-z ]+ -->`)
	// A figure is a number with the unit of something that is measured.
	figure = regexp.MustCompile(`\d[\d .,]*(?:×|%|[nµm]?s\b|bytes|[KMG]i?B\b|G?M?bit|allocations|(?:server )?commands|round trips|times as|a second|/s\b)`)
)

// settings are what the page may say of numbers with a unit: nobody has measured them.
var settings = []string{
	"1 ms",             // after which all callers of the row polling ask again
	"1 Gbit", "125 MB", // what a network is sold as
}

// figuresIn are the figures that stand outside of what is generated.
func figuresIn(page string) []string {
	found := figure.FindAllString(generated.ReplaceAllString(page, ""), -1)
	return slices.DeleteFunc(found, func(f string) bool { return slices.Contains(settings, strings.TrimSpace(f)) })
}

// A figure that is written by hand is not measured anew with the tables, and contradicts them some day.
func TestPageHasNoFiguresByHand(t *testing.T) {
	t.Parallel()
	if found := figuresIn(costs(t)); len(found) > 0 {
		t.Errorf("these figures are written by hand: %q; let a part of the page have them, or leave them out", found)
	}
	for text, want := range map[string]int{
		"while nothing moves 200 commands/s, 2.6 MiB": 2, "1.2 to 1.4 times as many": 1, "some 20 ms, its 12 KiB buy that": 2,
		"asks again after 1 ms, with 10 000 keys": 0, "<!-- compare short -->\n| 4 ms |\n<!-- /compare short -->\n": 0, "0.8 % of a core": 1,
	} {
		if got := figuresIn(text); len(got) != want {
			t.Errorf("%s: got %q, want %d", text, got, want)
		}
	}
}
