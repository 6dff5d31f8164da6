package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// swapped are the functions of package mutant for operators whose operands are not to be swapped.
var swapped = map[token.Token]string{
	token.SUB: "Sub", token.QUO: "Quo", token.REM: "Rem", token.ADD: "Cat",
	token.LSS: "Less", token.LEQ: "LessEq", token.GTR: "Greater", token.GEQ: "GreaterEq",
}

// binary swaps the operands of an expression, or negates them.
func (s site) binary(n *ast.BinaryExpr) {
	if n.Op == token.LAND || n.Op == token.LOR {
		s.operand(n.X)
		s.operand(n.Y)
		return
	}
	name := swapped[n.Op]
	if name == "" || s.info.Types[n].Value != nil || n.Op == token.ADD && !isOf(s.info.TypeOf(n), types.IsString) {
		return
	}
	place := s.function(n, name, 1)
	s.edits = append(s.edits, edit{
		start: s.offset(n.OpPos), end: s.offset(n.OpPos) + len(n.Op.String()), before: ",", replaces: true, place: place,
	})
	s.made(n, swaps, place, place, s.text(n.Y)+" "+n.Op.String()+" "+s.text(n.X))
}

// operand negates a part of a condition that has no parts of its own.
func (s site) operand(e ast.Expr) {
	if inner, is := ast.Unparen(e).(*ast.BinaryExpr); is && (inner.Op == token.LAND || inner.Op == token.LOR) {
		return
	}
	if s.isBool(e) {
		place := s.function(e, "Negate", 1)
		s.made(e, negates, place, place, "!("+s.text(e)+")")
	}
}

func isOf(t types.Type, info types.BasicInfo) bool {
	if t == nil {
		return false
	}
	basic, is := t.Underlying().(*types.Basic)
	return is && basic.Info()&info != 0
}

// isBool reports whether an expression is yes or no, and not always the same.
func (f *goFile) isBool(e ast.Expr) bool {
	return f.info.Types[e].Value == nil && isOf(f.info.TypeOf(e), types.IsBoolean)
}

// isZero reports whether an expression is the zero value of its type as it is written.
func (f *goFile) isZero(e ast.Expr) bool {
	tv := f.info.Types[e]
	if lit, is := e.(*ast.CompositeLit); is {
		_, isStruct := tv.Type.Underlying().(*types.Struct)
		return isStruct && len(lit.Elts) == 0
	}
	if tv.Value == nil {
		return tv.IsNil()
	}
	switch tv.Value.Kind() {
	case constant.Bool:
		return !constant.BoolVal(tv.Value)
	case constant.String:
		return constant.StringVal(tv.Value) == ""
	case constant.Int, constant.Float:
		return constant.Sign(tv.Value) == 0
	}
	return false
}

// call leaves out each argument of a call.
func (s site) call(n *ast.CallExpr) {
	signature, is := s.info.TypeOf(n.Fun).(*types.Signature)
	if tv := s.info.Types[n.Fun]; !is || tv.IsType() || tv.IsBuiltin() {
		return
	}
	for i, arg := range n.Args {
		if s.info.Types[arg].Type == nil {
			continue
		}
		if _, is := s.info.TypeOf(arg).(*types.Tuple); is {
			continue
		}
		s.drop(arg, parameter(signature, i, n.Ellipsis.IsValid()))
	}
}

// parameter is the type of a parameter, as the caller sees it.
func parameter(signature *types.Signature, i int, whole bool) types.Type {
	params := signature.Params()
	last := params.Len() - 1
	if !signature.Variadic() || i < last || whole {
		return params.At(min(i, last)).Type()
	}
	if slice, is := params.At(last).Type().(*types.Slice); is {
		return slice.Elem()
	}
	return params.At(last).Type()
}

// composite leaves out each field of a struct.
func (s site) composite(n *ast.CompositeLit) {
	of, is := s.info.TypeOf(n).Underlying().(*types.Struct)
	if pointer, isPointer := s.info.TypeOf(n).Underlying().(*types.Pointer); isPointer {
		of, is = pointer.Elem().Underlying().(*types.Struct)
	}
	if !is {
		return
	}
	for i, elt := range n.Elts {
		pair, hasKey := elt.(*ast.KeyValueExpr)
		if !hasKey {
			s.drop(elt, of.Field(i).Type())
		} else if field := s.info.Uses[pair.Key.(*ast.Ident)]; field != nil {
			s.drop(pair.Value, field.Type())
		}
	}
}

// drop leaves out a value: in its place is the zero value of the type that is wanted.
func (s site) drop(e ast.Expr, wanted types.Type) {
	if s.isNumber(e) || s.isZero(e) || isOf(wanted, types.IsUntyped) {
		return
	}
	if name := types.TypeString(wanted, nil); name == "context.Context" {
		if background := "context.Background()"; s.text(e) != background {
			place := s.function(e, "Context", 1)
			s.made(e, drops, place, place, background)
		}
		return
	}
	function := "Drop"
	if !types.Identical(s.info.TypeOf(e), wanted) || s.info.Types[e].Value != nil {
		name, can := s.nameOf(wanted)
		if !can {
			s.skip("the type has no name in the file")
			return
		}
		function += "[" + name + "]"
	}
	place := s.function(e, function, 1)
	s.made(e, drops, place, place, s.zeroOf(wanted))
}

// zeroOf is how the zero value of a type is shown.
func (f *goFile) zeroOf(t types.Type) string {
	switch under := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case under.Info()&types.IsBoolean != 0:
			return "false"
		case under.Info()&types.IsString != 0:
			return `""`
		case under.Info()&types.IsNumeric != 0:
			return "0"
		}
	case *types.Struct, *types.Array:
		name, _ := f.nameOf(t)
		return name + "{}"
	}
	return "nil"
}
