package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A result is of a step that has passed.
type result struct {
	Figure string
	Day    string
	Took   time.Duration
}

// once is the result of a step, which runs if it has not passed on this commit.
func (l list) once(ctx context.Context, s step) (result, error) {
	if r, ok := l.passed(s); ok {
		return r, nil
	}
	log, err := os.Create(l.file(s, "log"))
	if err != nil {
		return result{}, err
	}
	defer func() { _ = log.Close() }()
	began := time.Now()
	figure, err := s.run(ctx, l.root, log)
	if err != nil {
		return result{}, err
	}
	r := result{figure, began.Format(time.DateOnly), time.Since(began).Round(time.Second)}
	text, err := json.Marshal(r)
	if err != nil {
		return result{}, err
	}
	return r, os.WriteFile(l.file(s, "json"), text, 0o644)
}

// passed is what an earlier run on this commit has kept.
func (l list) passed(s step) (r result, ok bool) {
	text, err := os.ReadFile(l.file(s, "json"))
	return r, err == nil && json.Unmarshal(text, &r) == nil
}

func (l list) file(s step, kind string) string {
	return filepath.Join(l.kept, strings.NewReplacer(" ", "-", "/", "-").Replace(s.name)+"."+kind)
}

// table is the part of the page.
func (l list) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Commit %s, for %s:\n\n| step | shows | figure | day | took |\n|---|---|---|---|---|\n", l.commit, l.version)
	for _, s := range l.steps {
		r, ok := l.passed(s)
		if !ok {
			fmt.Fprintf(&b, "| %s | %s | not run | | |\n", s.name, s.shows)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.name, s.shows, strings.ReplaceAll(r.Figure, "|", "/"), r.Day, r.Took)
	}
	return b.String()
}
