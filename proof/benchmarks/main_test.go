package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Rows that are quick, from the command line to what is printed. How long a side is measured does not
// matter here.
func TestRun(t *testing.T) {
	t.Parallel()
	redistest.Need(t, "redis-server")
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("as it is"), 0o600); err != nil {
		t.Fatal(err)
	}
	charts := filepath.Join(t.TempDir(), "charts")
	var out, diag bytes.Buffer
	args := []string{"-rows", "^(alone|free|polling|refused|quorum|memory)$", "-for", "20ms", "-json", "-page", page, "-o", charts}
	if status := run(t.Context(), args, &out, &diag); status != 0 {
		t.Fatalf("got exit status %d: %s", status, diag.String())
	}
	var all comparison
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Rows) != 6 || all.Server == "" {
		t.Errorf("got %d rows of Redis %q, want 6", len(all.Rows), all.Server)
	}
	for _, row := range all.Rows {
		if len(row.Figures) == 0 {
			t.Errorf("%s: got no figures", row.Name)
		}
		for _, f := range row.Figures {
			if !(f.Value.Median > 0) {
				t.Errorf("%s, %s at %d, %s: got %v", row.Name, f.By, f.At, f.Metric, f.Value)
			}
		}
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != "as it is" || !strings.Contains(diag.String(), "not all rows") {
		t.Errorf("got the page %q, %v, and %s", text, err, diag.String())
	}
	drawn, err := os.ReadDir(charts)
	if err != nil || len(drawn) != 1 || drawn[0].Name() != "polling.svg" {
		t.Errorf("got the charts %v, %v, want the one whose rows were measured", drawn, err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string // what is wrong
	}{
		"nothing":         {nil, ""},
		"some rows":       {[]string{"-rows", "free|sets", "-for", "1s"}, ""},
		"an unknown flag": {[]string{"-x"}, "-x"},
		"an argument":     {[]string{"free"}, `unexpected "free"`},
		"no such row":     {[]string{"-rows", "prayer"}, "no row matches prayer"},
		"no regexp":       {[]string{"-rows", "("}, "missing closing )"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diag bytes.Buffer
			_, err := read(test.args, &diag)
			if (err != nil) != (test.want != "") || !strings.Contains(diag.String(), test.want) {
				t.Errorf("got %v and %q, want %q", err, diag.String(), test.want)
			}
		})
	}
}
