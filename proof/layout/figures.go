package main

import (
	"context"
	"fmt"
	"strings"
)

// figures are measured, by the names that limits has for them.
type figures map[string]int

// structure measures what can be read.
func (t *tree) structure(ctx context.Context) (figures, error) {
	files, err := t.contents(ctx)
	if err != nil {
		return nil, err
	}
	f := figures{"files of the root folder": inFolder(files), "exported names": t.exported()}
	f["lines of the tool, without tests"], f["lines of the tool's tests"] = ofTool(files)
	if f["lines of Go"], f["lines of Lua"], err = t.code(files); err != nil {
		return nil, err
	}
	if f["files to download"], f["bytes to download"], err = download(files); err != nil {
		return nil, err
	}
	if f["fields of a call"], err = t.leaves("call"); err != nil {
		return nil, err
	}
	if f["fields of a Lock"], err = t.leaves("Lock"); err != nil {
		return nil, err
	}
	needs := t.needs()
	f["Go files of the root, without tests"], f["largest knot of root files"] = len(needs), needs.largest()
	f["arrows that run back up"], f["floors"] = needs.back()
	return f, nil
}

// table shows figures beside their targets.
func table(f figures) (string, error) {
	var b strings.Builder
	b.WriteString("| figure | target | now | verdict |\n|---|---|---|---|\n")
	for _, l := range limits {
		now, found := f[l.figure]
		if !found {
			return "", fmt.Errorf("%s: nothing measures it", l.figure)
		}
		target, verdict := fmt.Sprintf("≤ %d", l.target), "holds"
		switch {
		case l.target == none:
			target, verdict = "–", "no target"
		case now > l.target:
			verdict = "does not hold"
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s |\n", l.figure, target, now, verdict)
	}
	return b.String(), nil
}

// above says which figures are above what they may be, and which have no limit.
func above(f figures, limits []limit) (found []string) {
	most := map[string]int{}
	for _, l := range limits {
		most[l.figure] = l.most
	}
	for name, now := range f {
		if limit, known := most[name]; !known {
			found = append(found, fmt.Sprintf("%s: %d, and no limit in limits.go", name, now))
		} else if now > limit {
			found = append(found, fmt.Sprintf("%s: %d, want at most %d: see limits.go", name, now, limit))
		}
	}
	return found
}
