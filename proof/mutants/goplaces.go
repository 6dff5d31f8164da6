package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// A goFile is a Go file of the library in which places are looked for.
type goFile struct {
	*goPackage
	path    string // in the tree
	source  []byte
	syntax  *ast.File
	imports map[string]string // names of packages in this file, by path

	edits   []edit
	mutants []*defect
	skipped []skipped
	ends    map[int]int // of places whose statements may end a function: the line on which that ends
	hashes  hashes
}

// places finds every place of the file.
func (f *goFile) places() {
	for _, decl := range f.syntax.Decls {
		if gen, is := decl.(*ast.GenDecl); is && gen.Tok != token.VAR {
			continue // constants: see constants.go
		}
		ast.PreorderStack(decl, nil, f.visit)
	}
}

// visit finds the places of one node, and reports whether there may be more in it.
func (f *goFile) visit(n ast.Node, stack []ast.Node) bool {
	at := site{f, n, stack}
	if e, is := n.(ast.Expr); is && f.isNumber(e) {
		return at.number(e)
	}
	switch n := n.(type) {
	case *ast.ArrayType:
		return false
	case *ast.FuncDecl:
		at.earlyReturn(n.Type, n.Body)
	case *ast.FuncLit:
		at.earlyReturn(n.Type, n.Body)
	case *ast.BlockStmt:
		at.statements(n.List)
	case *ast.CaseClause:
		at.caseClause(n)
	case *ast.CommClause:
		at.commClause(n)
	case *ast.IfStmt:
		at.condition(n.Cond)
	case *ast.ForStmt:
		at.condition(n.Cond)
	case *ast.ReturnStmt:
		at.returned(n)
	case *ast.BinaryExpr:
		at.binary(n)
	case *ast.CallExpr:
		at.call(n)
	case *ast.CompositeLit:
		at.composite(n)
	}
	return true
}

// A site is a node, and what is around it.
type site struct {
	*goFile
	node  ast.Node
	stack []ast.Node
}

func (f *goFile) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *goFile) text(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *goFile) skip(reason string) { f.skipped = append(f.skipped, skipped{f.path, reason}) }

// wrap puts text around a node, and returns the number of the place: the first of n.
func (f *goFile) wrap(n ast.Node, ids int, before func(id string) string, after string) int {
	place := f.ids.take(ids)
	f.edits = append(f.edits, edit{
		start: f.offset(n.Pos()), end: f.offset(n.End()), before: before(number(place)), after: after, place: place,
	})
	return place
}

// function wraps a node as the last argument of a function of package mutant.
func (f *goFile) function(n ast.Node, name string, ids int) int {
	return f.wrap(n, ids, func(id string) string { return "mutant." + name + "(" + id + ", " }, ")")
}

// made adds a mutant of a place.
func (s site) made(n ast.Node, op operator, place, id int, text string) {
	s.madeAt(s.offset(n.Pos()), s.offset(n.End()), op, place, id, text)
}

func (s site) madeAt(start, end int, op operator, place, id int, text string) {
	function := s.enclosing()
	hash := s.hashes.of(function, op, s.around(), string(s.source[start:end]), text)
	s.mutants = append(s.mutants, &defect{
		file: s.path, line: 1 + strings.Count(string(s.source[:start]), "\n"), function: function, op: op,
		start: start, end: end, text: text, reach: []int{place}, id: id, hash: hash,
	})
}

// enclosing is the name of the function, or of the variable, in which the node is.
func (s site) enclosing() string {
	for _, n := range append(s.stack[:len(s.stack):len(s.stack)], s.node) {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil {
				return strings.TrimLeft(s.text(n.Recv.List[0].Type), "*") + "." + n.Name.Name
			}
			return n.Name.Name
		case *ast.ValueSpec:
			return n.Names[0].Name
		}
	}
	return "-"
}

// around is the statement in which the node is, and those before and behind it.
func (s site) around() []string {
	path := append(s.stack[:len(s.stack):len(s.stack)], s.node)
	for i := len(path) - 2; i >= 0; i-- {
		list := listOf(path[i])
		for j, stmt := range list {
			if stmt != path[i+1] {
				continue
			}
			texts := []string{s.header(stmt), "", ""}
			if j > 0 {
				texts[1] = s.header(list[j-1])
			}
			if j+1 < len(list) {
				texts[2] = s.header(list[j+1])
			}
			return texts
		}
	}
	return nil
}

// listOf returns the statements that a node has one below the other.
func listOf(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// header is the text of a statement without its body.
func (f *goFile) header(stmt ast.Stmt) string {
	end := stmt.End()
	switch stmt := stmt.(type) {
	case *ast.IfStmt:
		end = stmt.Body.Pos()
	case *ast.ForStmt:
		end = stmt.Body.Pos()
	case *ast.RangeStmt:
		end = stmt.Body.Pos()
	case *ast.SwitchStmt:
		end = stmt.Body.Pos()
	case *ast.TypeSwitchStmt:
		end = stmt.Body.Pos()
	case *ast.SelectStmt:
		end = stmt.Body.Pos()
	}
	return squeeze(string(f.source[f.offset(stmt.Pos()):f.offset(end)]))
}

// signature returns the signature and the end of the function around the node.
func (s site) signature() (*ast.FuncType, *ast.BlockStmt) {
	for i := len(s.stack) - 1; i >= 0; i-- {
		switch n := s.stack[i].(type) {
		case *ast.FuncDecl:
			return n.Type, n.Body
		case *ast.FuncLit:
			return n.Type, n.Body
		}
	}
	return nil, nil
}

// nameOf is how a type is written in the file, if it can be.
func (f *goFile) nameOf(t types.Type) (string, bool) {
	can := t != nil && t != types.Typ[types.UntypedNil]
	name := types.TypeString(t, func(p *types.Package) string {
		if p == f.types {
			return ""
		}
		name, is := f.imports[p.Path()]
		can = can && is
		return name
	})
	return name, can && !strings.Contains(name, "untyped") && !strings.Contains(name, "invalid")
}
