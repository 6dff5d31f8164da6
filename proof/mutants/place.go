package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// An operator is a way to make a defect.
type operator string

const (
	deletes  operator = "delete"
	negates  operator = "negate"
	swaps    operator = "swap"
	changes  operator = "constant"
	drops    operator = "drop"
	returns  operator = "return"
	branches operator = "branch"
)

// A defect is a mutant: one place that is made wrong, as a change of the text of a file.
type defect struct {
	file       string // path in the tree, with slashes
	line       int
	function   string
	op         operator
	start, end int    // bytes of the file that are replaced
	text       string // what stands there instead
	reach      []int  // numbers of places, or of scripts: a test has to reach one of them
	id         int    // what is planted in Go
	hash       string // of what it is and what surrounds it
}

// String says where the mutant is and what it does.
func (m *defect) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.function, m.op)
}

// isLua reports whether it is in a script.
func (m *defect) isLua() bool { return strings.HasSuffix(m.file, ".lua") }

// folder is the package that the table counts it for.
func (m *defect) folder() string {
	dir := filepath.Dir(m.file)
	if m.isLua() && (dir == "." || dir == "lua" || dir == "lua/include") {
		return "lua"
	}
	return dir
}

// A skipped place is one in which no defect was made, and why.
type skipped struct {
	file   string
	reason string
}

// hashes makes the hashes of mutants. Two that are alike in everything that a hash is made of differ by their order.
type hashes struct{ seen map[string]int }

// of is the hash of a defect in a function: of its operator, the text that it replaces and what stands there instead, and the
// statements around it, so that it stays when code is moved or laid out anew, and goes when the code is changed.
func (h *hashes) of(function string, op operator, around []string, old, text string) string {
	all := append([]string{function, string(op), squeeze(old), squeeze(text)}, around...)
	key := strings.Join(all, "\x00")
	if h.seen == nil {
		h.seen = map[string]int{}
	}
	h.seen[key]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, h.seen[key]))
	return hex.EncodeToString(sum[:6])
}

// squeeze leaves out how a text is laid out.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }
