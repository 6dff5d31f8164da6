package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func input(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/waiting.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The drawing is the one in testdata, whatever the order of the results.
func TestGolden(t *testing.T) {
	t.Parallel()
	const file = "testdata/waiting.svg"
	in := input(t)
	got := drawing(t, in)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the drawing is not %s; if it is meant to change, look at it after go test -update", file)
	}
	reversed := strings.Split(in, "\n")
	slices.Reverse(reversed)
	for range 10 {
		if got := drawing(t, strings.Join(reversed, "\n")); !bytes.Equal(got, want) {
			t.Fatal("got another drawing")
		}
	}
}

func drawing(t *testing.T, in string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := draw(strings.NewReader(in), &out, ""); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRun(t *testing.T) {
	t.Parallel()
	good := input(t)
	for name, test := range map[string]struct {
		args   []string
		in     string
		status int
		out    string // how it begins
		diag   string // what is in it
	}{
		"to standard output": {nil, good, 0, "<svg ", ""},
		"nothing to draw":    {nil, "PASS\n", 1, "", "waiting: no results of BenchmarkWaiting in the input\n"},
		"a file that cannot be": {
			[]string{"-o", filepath.Join(t.TempDir(), "not", "there")},
			good, 1, "", "waiting: open ",
		},
		"an unknown flag": {[]string{"-x"}, good, 2, "", "-x"},
		"an argument":     {[]string{"waiting.txt"}, good, 2, "", `unexpected "waiting.txt"`},
		"help":            {[]string{"-h"}, good, 0, "", "-o file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, diag bytes.Buffer
			if got := run(test.args, strings.NewReader(test.in), &out, &diag); got != test.status {
				t.Errorf("got exit status %d, want %d", got, test.status)
			}
			if !strings.HasPrefix(out.String(), test.out) || (out.Len() > 0) != (test.out != "") {
				t.Errorf("got output %.60q, want %q", out.String(), test.out)
			}
			if !strings.Contains(diag.String(), test.diag) || (diag.Len() > 0) != (test.diag != "") {
				t.Errorf("got diagnostics %q, want %q", diag.String(), test.diag)
			}
		})
	}
}

func TestRunWritesFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "waiting.svg")
	var onOut, out, diag bytes.Buffer
	good := input(t)
	run(nil, strings.NewReader(good), &onOut, &diag)
	for _, in := range []string{good, "PASS\n"} { // the second leaves the file alone
		run([]string{"-o", file}, strings.NewReader(in), &out, &diag)
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, onOut.Bytes()) || out.Len() > 0 {
			t.Errorf("got %d bytes in the file and %d on standard output, want %d and 0",
				len(got), out.Len(), onOut.Len())
		}
	}
}
