package check_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

func TestPicture(t *testing.T) {
	t.Run("of windows", func(t *testing.T) {
		h := story(t, `
			0 1.1 call obtain write=a,<b> ttl=600
			10 1.1 return ok until=580
			90 1 stall for=20
			95 0.1 fault name=cut
			105 2.1 call obtain write=<b> ttl=600
			106 2.1 return ok until=690
			130 0 killed op=2
			140 0.1 healed
			200 1.2 call release lock=1
			210 1.2 return ok`)
		page := draw(t, h, false, "1-exclusion.html")
		for _, want := range []string{"process 1", "process 2", "1 writes a", "hatched", "killed", "never overlap", "&lt;b&gt;"} {
			if !strings.Contains(page, want) {
				t.Errorf("the picture does not contain %q", want)
			}
		}
		if strings.Contains(page, "<script") || strings.Contains(page, "<b>") {
			t.Error("the picture has what is not its own")
		}
		wellFormed(t, page)
	})
	t.Run("of an order", func(t *testing.T) {
		h := story(t, `
			0 1.1 call obtain write=a ttl=600000
			4 2.1 call obtain write=a ttl=600000
			5 2.1 return refused held=write inway=a
			6 2.2 call obtain write=a ttl=600000
			7 2.2 return ok until=590000
			8 2.3 call release lock=2
			9 2.3 return ok
			20 1.1 return ok until=590000`)
		if page := draw(t, h, true, "linear.html"); !strings.Contains(page, "obtain 2 of process 2: takes a") {
			t.Error("the picture of porcupine does not tell the operations")
		}
		draw(t, h, true, "1-linear.html")
	})
	t.Run("of many findings", func(t *testing.T) {
		s := simulate(1, profile{name: "leases"}, overlap)
		found, _ := look(s)
		folder := t.TempDir()
		if err := check.Picture(&s.log, found, folder); err != nil {
			t.Fatal(err)
		}
		if files, _ := filepath.Glob(filepath.Join(folder, "*.html")); len(files) != 5 {
			t.Errorf("%d pictures of %d findings, want 5", len(files), len(found))
		}
	})
}

// draw draws what is found in a history, and returns one of the pages.
func draw(t *testing.T, h *history.History, endless bool, name string) string {
	t.Helper()
	b, folder := bounds, t.TempDir()
	b.Endless = endless
	found, _ := run(h, b)
	if len(found) == 0 {
		t.Fatal("nothing was found")
	}
	if err := check.Picture(h, found, folder); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// wellFormed checks the picture inside of a page.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	_, picture, _ := strings.Cut(page, "<svg")
	picture, _, ok := strings.Cut("<svg"+picture, "</svg>")
	if !ok {
		t.Fatal("the page has no picture")
	}
	decoder := xml.NewDecoder(strings.NewReader(picture + "</svg>"))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the picture is not well formed: %v", err)
		}
	}
}
