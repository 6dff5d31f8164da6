package main

import (
	"fmt"
	"os"
	"strings"
)

// equivalents are the defects of which nothing can be seen, by hash, with the reason.
type equivalents map[string]string

// readEquivalents reads the file in which each line has a hash and a sentence. There may be none.
func readEquivalents(path string) (equivalents, error) {
	return readByHash(path, "a sentence that says why nothing can be seen of the defect", func(text string) bool {
		return strings.HasSuffix(text, ".")
	})
}

// readByHash reads a file in which each line has a hash and a text, which has to fit. There may be none.
func readByHash(path, what string, fits func(text string) bool) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	all := map[string]string{}
	n := 0
	for line := range strings.Lines(string(content)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		hash, text, _ := strings.Cut(line, " ")
		if text = strings.TrimSpace(text); !fits(text) {
			return nil, fmt.Errorf("%s:%d: a hash, and %s", path, n, what)
		}
		all[hash] = text
	}
	return all, nil
}

// stale returns the hashes that are those of no mutant any more.
func (e equivalents) stale(mutants []*defect) []string {
	there := map[string]bool{}
	for _, m := range mutants {
		there[m.hash] = true
	}
	var gone []string
	for hash := range e {
		if !there[hash] {
			gone = append(gone, hash)
		}
	}
	return gone
}
