package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
)

func number(n int) string { return strconv.Itoa(n) }

// ids hands out the numbers of places.
type ids struct{ next int }

func (i *ids) take(n int) int {
	i.next += n
	return i.next - n
}

// isNumber reports whether an expression is a constant that is a number, and not the name of its type.
func (f *goFile) isNumber(e ast.Expr) bool {
	tv := f.info.Types[e]
	return tv.Value != nil && isOf(tv.Type, types.IsInteger|types.IsFloat) && !tv.IsType()
}

// named is the constant of the library that an expression names, empty if it is none.
func (f *goFile) named(e ast.Expr) string {
	var object types.Object
	switch e := e.(type) {
	case *ast.Ident:
		object = f.info.Uses[e]
	case *ast.SelectorExpr:
		object = f.info.Uses[e.Sel]
	}
	c, is := object.(*types.Const)
	if !is || c.Pkg() == nil || c.Parent() != c.Pkg().Scope() {
		return ""
	}
	key := c.Pkg().Path() + "." + c.Name()
	if _, is := f.constants[key]; is {
		return key
	}
	return ""
}

// hasNamed reports whether there is a constant of the library in an expression.
func (f *goFile) hasNamed(e ast.Expr) (has bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		part, is := n.(ast.Expr)
		has = has || is && f.named(part) != ""
		return !has
	})
	return has
}

// number makes a constant more and less. It reports whether there are other places in it: each constant of the library is one
// place, wherever it is used.
func (s site) number(e ast.Expr) bool {
	if s.mustBeConstant() {
		return false
	}
	key := s.named(e)
	if key == "" && s.hasNamed(e) {
		return true
	}
	name, can := s.nameOf(types.Default(s.info.TypeOf(e)))
	if !can {
		s.skip("the type has no name in the file")
		return false
	}
	before := func(id string) string { return "mutant.Number[" + name + "](" + id + ", " }
	if key != "" {
		place := s.constants[key].place
		s.edits = append(s.edits, edit{
			start: s.offset(e.Pos()), end: s.offset(e.End()), before: before(number(place)), after: ")", place: place,
		})
		s.constants[key].uses++
		return false
	}
	place := s.wrap(e, 4, before, ")")
	s.variants(e, place, s.info.Types[e].Value)
	return false
}

// mustBeConstant reports whether nothing can stand around the number, or nothing can be seen of it.
func (s site) mustBeConstant() bool {
	if len(s.stack) == 0 {
		return false
	}
	switch parent := s.stack[len(s.stack)-1].(type) {
	case *ast.KeyValueExpr:
		return parent.Key == s.node
	case *ast.CallExpr:
		name, is := parent.Fun.(*ast.Ident)
		return is && name.Name == "make" && len(parent.Args) == 3 && parent.Args[2] == s.node // how much room there is
	}
	return false
}

// smallest is the least number that is made twice and half of what it is: of smaller ones, one more and one less say as much.
const smallest = 10

// variants are the numbers that may stand in place of one: one more, one less, twice, half. What comes out alike is made once,
// and of a duration a nanosecond more would not be seen.
func (s site) variants(e ast.Expr, place int, value constant.Value) {
	text := s.text(e)
	isLong := types.TypeString(s.info.TypeOf(e), nil) == "time.Duration"
	isSmall := !isLong && value.Kind() == constant.Int && constant.Compare(value, token.LSS, constant.MakeInt64(smallest)) &&
		constant.Compare(value, token.GTR, constant.MakeInt64(-smallest))
	seen := map[string]bool{value.ExactString(): true}
	for i, change := range []struct {
		op    token.Token
		by    int64
		small bool
	}{{token.ADD, 1, true}, {token.SUB, 1, true}, {token.MUL, 2, false}, {token.QUO, 2, false}} {
		if change.small && isLong || !change.small && isSmall {
			continue
		}
		op := change.op
		if op == token.QUO && value.Kind() == constant.Int {
			op = token.QUO_ASSIGN // which is how go/constant is asked for integer division
		}
		other := constant.BinaryOp(value, op, constant.MakeInt64(change.by))
		if seen[other.ExactString()] || constant.Sign(other) < 0 && isOf(s.info.TypeOf(e), types.IsUnsigned) {
			continue
		}
		seen[other.ExactString()] = true
		shown := other.ExactString()
		if _, is := e.(*ast.BasicLit); !is {
			shown = fmt.Sprintf("(%s) %s %d", text, change.op, change.by)
		}
		s.made(e, changes, place, place+i, shown)
	}
}

// A libraryConstant is declared in the library, and changed in all places in which it is used.
type libraryConstant struct {
	place, uses int
	spoiled     bool // a place in which it is used does not compile
	mutants     []*defect
}

// declare finds the constants that the file declares. Enumerations are none: their numbers mean nothing.
func (f *goFile) declare() {
	for _, decl := range f.syntax.Decls {
		gen, is := decl.(*ast.GenDecl)
		if !is || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			spec := spec.(*ast.ValueSpec)
			for i, value := range spec.Values {
				if f.isNumber(value) && !usesIota(value) && spec.Names[i].Name != "_" {
					f.constant(spec, spec.Names[i], value)
				}
			}
		}
	}
}

func usesIota(e ast.Expr) (uses bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		name, is := n.(*ast.Ident)
		uses = uses || is && name.Name == "iota"
		return !uses
	})
	return uses
}

func (f *goFile) constant(spec *ast.ValueSpec, name *ast.Ident, value ast.Expr) {
	place := f.ids.take(4)
	before := len(f.mutants)
	site{f, value, []ast.Node{spec}}.variants(value, place, f.info.Types[value].Value)
	f.constants[f.types.Path()+"."+name.Name] = &libraryConstant{
		place: place, mutants: slices.Clone(f.mutants[before:]),
	}
}
