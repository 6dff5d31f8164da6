package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/proof/internal/lua"
)

// goCode counts the lines of a Go file that have code on them.
func goCode(source []byte) int {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // it is not in the file
		}
		first := file.Line(pos)
		for line := first; line <= first+strings.Count(text, "\n"); line++ {
			lines[line] = true
		}
	}
}

// luaCode counts the lines of a script that have code on them.
func luaCode(source string) (int, error) {
	tokens, err := lua.Tokens(source)
	lines := map[int]bool{}
	for _, t := range tokens {
		if t.Kind == lua.EndOfFile {
			continue
		}
		first := strings.Count(source[:t.Start], "\n")
		for line := first; line <= first+strings.Count(t.Text, "\n"); line++ {
			lines[line] = true
		}
	}
	return len(lines), err
}

// code counts the lines of the core: Go of the root package and of what it needs of its module, and Lua.
func (t *tree) code(files map[string][]byte) (inGo, inLua int, err error) {
	for _, p := range t.core {
		for _, name := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return 0, 0, err
			}
			inGo += goCode(source)
		}
	}
	for name, source := range files {
		if dir := path.Dir(name); path.Ext(name) != ".lua" || dir != "." && dir != "lua" && dir != "lua/include" {
			continue
		}
		n, err := luaCode(string(source))
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", name, err)
		}
		inLua += n
	}
	return inGo, inLua, nil
}

// ofTool counts the lines of Go of the tool, comments and blank lines included.
func ofTool(files map[string][]byte) (code, tests int) {
	for name, source := range files {
		switch n := bytes.Count(source, []byte("\n")); {
		case !strings.HasPrefix(name, "cmd/redislock/"):
		case strings.HasSuffix(name, "_test.go"):
			tests += n
		case path.Ext(name) == ".go":
			code += n
		}
	}
	return code, tests
}

// download returns how many files of the repository a user of the root module downloads, and the size of their zip. They are
// those of no module below; the test TestDownload of proof/test/install installs them.
func download(files map[string][]byte) (n, size int, err error) {
	var packed bytes.Buffer
	out := zip.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if below(files, name) {
			continue
		}
		file, err := out.Create(module + "@v0.1.0/" + name)
		if err != nil {
			return 0, 0, err
		}
		if _, err := file.Write(files[name]); err != nil {
			return 0, 0, err
		}
		n++
	}
	err = out.Close()
	return n, packed.Len(), err
}

// below reports whether a file belongs to a module below the root.
func below(files map[string][]byte, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, found := files[dir+"/go.mod"]; found {
			return true
		}
	}
	return false
}
