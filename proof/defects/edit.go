package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// An edit puts a text of a declaration in the place of another one.
type edit struct {
	file     string   // in the tree
	name     string   // of the declaration; of a Lua file empty for what is outside of functions
	old, new []string // lines
}

// A span is a declaration, or a part of what is outside of functions, and its place in a text.
type span struct {
	name     string
	from, to int
}

// apply returns a file as it is with the edit.
func (e edit) apply(text string) (string, error) {
	all, err := spansOf(e.file, text)
	if err != nil {
		return "", err
	}
	in := slices.DeleteFunc(slices.Clone(all), func(s span) bool { return s.name != e.name })
	if len(in) == 0 {
		return "", fmt.Errorf("%s has no %s; nearest to %q is %s", e.file, e.name, e.old[0], e.nearest(text, all))
	}
	var places [][]int
	for _, s := range in {
		for _, at := range e.pattern().FindAllStringIndex(text[s.from:s.to], -1) {
			places = append(places, []int{s.from + at[0], s.from + at[1]})
		}
	}
	if len(places) != 1 {
		where := strings.TrimSpace(e.file + " " + e.name)
		return "", fmt.Errorf("%q is %d times in %s; nearest is %s", e.old[0], len(places), where, e.nearest(text, in))
	}
	return text[:places[0][0]] + strings.Join(e.new, "\n") + text[places[0][1]:], nil
}

// pattern finds the text that goes, whatever its white space is, and not within a longer word.
func (e edit) pattern() *regexp.Regexp {
	words := strings.Fields(strings.Join(e.old, " "))
	for i, word := range words {
		words[i] = regexp.QuoteMeta(word)
	}
	text := strings.Join(words, `\s+`)
	if isWord.MatchString(text[:1]) {
		text = `\b` + text
	}
	if isWord.MatchString(text[len(text)-1:]) {
		text += `\b`
	}
	return regexp.MustCompile(text)
}

var isWord = regexp.MustCompile(`\w`)

// nearest returns the line that has most of the words of the text that goes, and where it is.
func (e edit) nearest(text string, in []span) string {
	best, most := "nothing", 0
	for _, s := range in {
		for line := range strings.Lines(text[s.from:s.to]) {
			common := 0
			for _, word := range wordOrSign.FindAllString(e.old[0], -1) {
				if strings.Contains(line, word) {
					common++
				}
			}
			if common > most {
				best, most = fmt.Sprintf("%q of %q", strings.TrimSpace(line), s.name), common
			}
		}
	}
	return best
}

var wordOrSign = regexp.MustCompile(`\w+|[^\w\s]+`)

// spansOf returns the declarations of a file.
func spansOf(file, text string) ([]span, error) {
	if filepath.Ext(file) == ".lua" {
		return spansOfLua(text), nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var spans []span
	add := func(name string, node ast.Node) {
		spans = append(spans, span{name, int(node.Pos() - parsed.FileStart), int(node.End() - parsed.FileStart)})
	}
	for _, decl := range parsed.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name.Name
			if decl.Recv != nil {
				of := decl.Recv.List[0].Type
				name = nameOf(text[of.Pos()-parsed.FileStart:of.End()-parsed.FileStart]) + "." + name
			}
			add(name, decl)
		case *ast.GenDecl:
			if decl.Tok == token.IMPORT {
				add("import", decl)
			}
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name.Name, spec)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						add(name.Name, spec)
					}
				}
			}
		}
	}
	return spans, nil
}

// nameOf is how a defect calls the type of a receiver.
func nameOf(receiver string) string {
	name, _, _ := strings.Cut(receiver, "[")
	if name[0] == '*' {
		return "(" + name + ")"
	}
	return name
}

var luaFunction = regexp.MustCompile(`(?m)^([ \t]*)(?:(?:local )?function ([\w.:]+)|(?:local )?([\w.]+) = function)\(.*$`)

// spansOfLua goes by the indentation: a function ends with the next `end` that stands below its head.
func spansOfLua(text string) []span {
	var spans []span
	outside := 0 // where what is outside of functions goes on
	for _, at := range luaFunction.FindAllStringSubmatchIndex(text, -1) {
		head, indent := text[at[0]:at[1]], text[at[2]:at[3]]
		name := text[max(at[4], at[6]):max(at[5], at[7])]
		to := at[1]
		if !strings.HasSuffix(head, " end") {
			if end := regexp.MustCompile(`(?m)^` + indent + `end\b`).FindStringIndex(text[to:]); end != nil {
				to += end[1]
			}
		}
		spans = append(spans, span{name, at[0], to})
		if at[0] >= outside {
			spans = append(spans, span{"", outside, at[0]})
			outside = to
		}
	}
	return append(spans, span{"", outside, len(text)})
}
