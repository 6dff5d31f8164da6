package main

import (
	"fmt"
	"os"
	"strings"
)

// A part is what stands between two marks of a page: <!-- compare NAME --> and <!-- /compare NAME -->.
type part struct{ name, text string }

// rewrite puts parts between their marks and leaves the rest of the file as it is. If a mark is
// missing it changes nothing.
func rewrite(file string, parts []part) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	page := string(text)
	for _, p := range parts {
		if page, err = p.into(page); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return os.WriteFile(file, []byte(page), 0o644)
}

func (p part) into(page string) (string, error) {
	begin, end := "<!-- compare "+p.name+" -->\n", "<!-- /compare "+p.name+" -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		return "", fmt.Errorf("no %s with its end", strings.TrimSpace(begin))
	}
	return before + begin + p.text + end + after, nil
}
