package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostBytes is what all pictures may weigh together.
const mostBytes = 60_000

// The files are what the program makes, no other picture is there, each is well-formed and says in words what it shows.
func TestPictures(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.svg")
	if err != nil || len(files) != len(pictures) {
		t.Errorf("%d files for %d pictures, %v", len(files), len(pictures), err)
	}
	all := 0
	for name, draw := range pictures {
		want := string(draw())
		got, err := os.ReadFile(name)
		if err != nil || string(got) != want {
			t.Errorf("%s is not what the program makes, %v: make pictures", name, err)
		}
		all += len(want)
		for _, part := range []string{"<title id=", "<desc id=", "prefers-color-scheme: dark"} {
			if !strings.Contains(want, part) {
				t.Errorf("%s has no %s", name, part)
			}
		}
		for d := xml.NewDecoder(strings.NewReader(want)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
	if all > mostBytes {
		t.Errorf("the pictures have %d bytes, want at most %d", all, mostBytes)
	}
}
