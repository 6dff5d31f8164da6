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
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return equivalents{}, nil
	}
	if err != nil {
		return nil, err
	}
	all := equivalents{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		hash, reason, _ := strings.Cut(line, " ")
		if reason = strings.TrimSpace(reason); reason == "" || !strings.HasSuffix(reason, ".") {
			return nil, fmt.Errorf("%s:%d: a hash, and a sentence that says why nothing can be seen of the defect", path, n)
		}
		all[hash] = reason
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
