package main

import (
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock/proof/internal/lua"
)

// A span is a part of a script: from the begin of one token to the end of another.
type span struct{ start, end int }

// A luaFile is a script in which places are looked for, while it is read.
type luaFile struct {
	path    string
	source  string
	tokens  []lua.Token
	at      int      // of the next token
	inside  []string // the functions around it
	made    []*luaMutant
	skipped []skipped
}

// A luaMutant is a mutant of which the statements around it are not known yet.
type luaMutant struct {
	defect
	around []string
}

// A luaError is what ends the reading of a script.
type luaError struct{ text string }

// readLua finds every place of a script.
func readLua(path, source string) (f *luaFile, err error) {
	f = &luaFile{path: path, source: source, inside: []string{"-"}}
	if f.tokens, err = lua.Tokens(source); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer func() {
		switch said := recover().(type) {
		case nil:
		case luaError:
			err = fmt.Errorf("%s: %s", path, said.text)
		default:
			panic(said)
		}
	}()
	f.block()
	f.want("")
	return f, nil
}

func (f *luaFile) next() lua.Token { return f.tokens[f.at] }

func (f *luaFile) is(texts ...string) bool {
	next := f.next()
	for _, text := range texts {
		if next.Text == text && next.Kind != lua.Quoted {
			return true
		}
	}
	return false
}

// take goes beyond the next token if it is this one.
func (f *luaFile) take(text string) bool {
	if !f.is(text) {
		return false
	}
	f.at++
	return true
}

// want goes beyond the next token, which has to be this one.
func (f *luaFile) want(text string) {
	if !f.is(text) {
		line := 1 + strings.Count(f.source[:f.next().Start], "\n")
		panic(luaError{fmt.Sprintf("line %d: %q in place of %q", line, f.next().Text, text)})
	}
	if text != "" {
		f.at++
	}
}

func (f *luaFile) wantName() string {
	if f.next().Kind != lua.Name {
		f.want("a name")
	}
	f.at++
	return f.tokens[f.at-1].Text
}

// since is the span from the token with this index to the one before the next.
func (f *luaFile) since(first int) span { return span{f.tokens[first].Start, f.tokens[f.at-1].End} }

func (f *luaFile) text(s span) string { return f.source[s.start:s.end] }

// A statement of Lua.
type statement struct {
	span
	header string // all of it, or what stands in front of its body
	can    bool   // be deleted
}

// block reads statements up to the end of a block, and returns them.
func (f *luaFile) block() []statement {
	var all []statement
	var before []int // how many mutants there were before each statement
	for !f.is("", "end", "else", "elseif", "until") {
		first := f.at
		before = append(before, len(f.made))
		s := f.statement()
		s.span = f.since(first)
		if s.header == "" {
			s.header = f.text(s.span)
		}
		all = append(all, s)
		f.take(";")
	}
	before = append(before, len(f.made))
	for i := range all {
		around := []string{squeeze(all[i].header), "", ""}
		if i > 0 {
			around[1] = squeeze(all[i-1].header)
		}
		if i+1 < len(all) {
			around[2] = squeeze(all[i+1].header)
		}
		for _, m := range f.made[before[i]:before[i+1]] {
			if m.around == nil {
				m.around = around
			}
		}
		if all[i].can {
			f.add(deletes, all[i].span, "")
			f.made[len(f.made)-1].around = around
		}
	}
	return all
}

// branchOf reads the block of a branch. If that is one statement, to delete it is the same as not to take the branch.
func (f *luaFile) branchOf() {
	before := len(f.made)
	all := f.block()
	if len(all) == 1 && all[0].can && len(f.made) > before {
		last := f.made[len(f.made)-1]
		if last.op == deletes && last.start == all[0].start && last.end == all[0].end {
			f.made = f.made[:len(f.made)-1]
		}
	}
}

// statement reads one statement.
func (f *luaFile) statement() statement {
	first := f.at
	switch {
	case f.take("if"):
		return f.ifStatement(first)
	case f.take("while"):
		f.condition()
		header := f.text(f.since(first))
		f.want("do")
		f.block()
		f.want("end")
		return statement{header: header}
	case f.take("do"):
		f.block()
		f.want("end")
		return statement{header: "do"}
	case f.take("for"):
		return f.forStatement(first)
	case f.take("repeat"):
		f.block()
		f.want("until")
		e := f.expression(true)
		f.add(negates, e.span, "not ("+f.text(e.span)+")")
		return statement{header: "repeat", can: false}
	case f.take("function"):
		called := f.wantName()
		for f.take(".") || f.take(":") {
			called += "." + f.wantName()
		}
		f.body(called)
		return statement{header: "function " + called}
	case f.take("local"):
		return f.local()
	case f.take("return"):
		if !f.is("", "end", "else", "elseif", "until", ";") {
			f.returned()
		}
		return statement{can: true}
	case f.take("break"):
		return statement{can: true}
	}
	f.suffixed()
	for f.take(",") {
		f.suffixed()
	}
	if f.take("=") {
		f.list()
	}
	return statement{can: true}
}

func (f *luaFile) ifStatement(first int) statement {
	f.condition()
	header := f.text(f.since(first))
	f.want("then")
	f.branchOf()
	for f.take("elseif") {
		f.condition()
		f.want("then")
		f.branchOf()
	}
	if f.take("else") {
		f.block()
	}
	f.want("end")
	return statement{header: header}
}

func (f *luaFile) forStatement(first int) statement {
	f.wantName()
	for f.take(",") {
		f.wantName()
	}
	if !f.take("=") {
		f.want("in")
	}
	f.list()
	header := f.text(f.since(first))
	f.want("do")
	f.block()
	f.want("end")
	return statement{header: header, can: true}
}

func (f *luaFile) local() statement {
	if f.take("function") {
		called := f.wantName()
		f.body(called)
		return statement{header: "local function " + called}
	}
	f.wantName()
	for f.take(",") {
		f.wantName()
	}
	if f.take("=") {
		f.list()
	}
	f.skipped = append(f.skipped, skipped{f.path, "it declares names that are used"})
	return statement{}
}

// body reads the parameters and the body of a function.
func (f *luaFile) body(called string) {
	f.inside = append(f.inside, called)
	f.want("(")
	for !f.take(")") {
		f.at++
	}
	at := f.tokens[f.at-1].End
	if statements := f.block(); len(statements) > 1 {
		f.add(returns, span{at, at}, " do return end")
		f.made[len(f.made)-1].around = []string{}
	}
	f.want("end")
	f.inside = f.inside[:len(f.inside)-1]
}

// add adds a mutant.
func (f *luaFile) add(op operator, s span, text string) {
	f.made = append(f.made, &luaMutant{defect: defect{
		file: f.path, line: 1 + strings.Count(f.source[:s.start], "\n"), function: f.inside[len(f.inside)-1], op: op,
		start: s.start, end: s.end, text: text, id: -1,
	}})
}

// mutants returns what was found, with hashes.
func (f *luaFile) mutants() []*defect {
	var all []*defect
	var h hashes
	for _, m := range f.made {
		m.hash = h.of(m.function, m.op, m.around, f.source[m.start:m.end], m.text)
		all = append(all, &m.defect)
	}
	return all
}
