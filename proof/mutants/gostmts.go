package main

import (
	"go/ast"
	"go/token"
	"strings"
)

// earlyReturn has a function return at its begin, with the zero values of its results.
func (s site) earlyReturn(signature *ast.FuncType, body *ast.BlockStmt) {
	if body == nil || len(body.List) == 0 || s.isTooShort(signature, body) {
		return
	}
	text := strings.TrimSpace("return " + s.zeroResults(signature))
	place := s.ids.take(1)
	at := s.offset(body.Lbrace) + 1
	s.edits = append(s.edits, edit{
		start: at, end: at, before: " if mutant.On(" + number(place) + ") { " + text + " };", place: place,
	})
	s.madeAt(at, at, returns, place, place, " "+text+";")
}

// isTooShort reports whether an early return is the same as another defect, or as none: the body is one statement.
func (s site) isTooShort(signature *ast.FuncType, body *ast.BlockStmt) bool {
	if len(body.List) > 1 {
		return false
	}
	end, is := body.List[0].(*ast.ReturnStmt)
	if !is {
		return signature.Results == nil
	}
	for _, e := range end.Results {
		if !s.isZero(e) {
			return false
		}
	}
	return true
}

// zeroResults are the zero values of the results of a function, nothing if they have names.
func (f *goFile) zeroResults(signature *ast.FuncType) string {
	if signature.Results == nil {
		return ""
	}
	var zeros []string
	for _, field := range signature.Results.List {
		if len(field.Names) > 0 {
			return ""
		}
		zeros = append(zeros, "*new("+f.text(field.Type)+")")
	}
	return strings.Join(zeros, ", ")
}

// statements deletes each statement of a list that can be deleted.
func (s site) statements(list []ast.Stmt) {
	for i, stmt := range list {
		switch stmt := stmt.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.RangeStmt:
		case *ast.AssignStmt:
			if stmt.Tok == token.DEFINE {
				s.skip("it declares names that are used")
				continue
			}
		case *ast.BranchStmt:
			if stmt.Tok != token.BREAK && stmt.Tok != token.CONTINUE {
				continue
			}
		case *ast.ReturnStmt:
			if _, body := s.signature(); len(stmt.Results) > 0 || body != nil && stmt == body.List[len(body.List)-1] {
				continue
			}
		default:
			continue
		}
		if !s.isOnlyOfBranch(list) {
			inner := site{s.goFile, list[i], append(s.stack[:len(s.stack):len(s.stack)], s.node)}
			inner.delete(list[i:i+1], deletes)
		}
	}
}

// isOnlyOfBranch reports whether to delete the only statement of a list is the same as never to take the branch.
func (s site) isOnlyOfBranch(list []ast.Stmt) bool {
	if len(list) != 1 || len(s.stack) == 0 {
		return false
	}
	parent, is := s.stack[len(s.stack)-1].(*ast.IfStmt)
	return is && parent.Body == s.node && parent.Else == nil
}

// delete deletes statements that follow one another.
func (s site) delete(list []ast.Stmt, op operator) {
	place := s.ids.take(1)
	start, end := s.offset(list[0].Pos()), s.offset(list[len(list)-1].End())
	s.edits = append(s.edits, edit{
		start: start, end: end, before: "if mutant.Keeps(" + number(place) + ") { ", after: " }", place: place,
	})
	if signature, body := s.signature(); signature != nil && signature.Results != nil {
		s.ends[place] = s.set.Position(body.Rbrace).Line
	}
	s.madeAt(start, end, op, place, place, "")
}

// condition negates a condition, and has it never hold.
func (s site) condition(cond ast.Expr) {
	if cond == nil || s.info.Types[cond].Value != nil {
		return
	}
	place := s.function(cond, "Cond", 2)
	s.made(cond, negates, place, place, "!("+s.text(cond)+")")
	s.made(cond, branches, place, place+1, "false")
}

// caseClause has a case never be taken.
func (s site) caseClause(n *ast.CaseClause) {
	s.statements(n.Body)
	outer, is := s.stack[len(s.stack)-2].(*ast.SwitchStmt)
	if is && outer.Tag == nil {
		for _, cond := range n.List {
			s.condition(cond)
		}
		return
	}
	if len(n.Body) == 0 {
		return
	}
	if len(n.Body) == 1 && !endsItsList(n.Body) {
		if _, is := n.Body[0].(*ast.AssignStmt); is {
			return // it is deleted
		}
	}
	if endsItsList(n.Body) {
		s.returnInCase(n)
		return
	}
	site{s.goFile, n.Body[0], append(s.stack[:len(s.stack):len(s.stack)], n)}.delete(n.Body, branches)
}

// returnInCase has a case that returns do so at once, with zero values.
func (s site) returnInCase(n *ast.CaseClause) {
	last, is := n.Body[len(n.Body)-1].(*ast.ReturnStmt)
	signature, _ := s.signature()
	if !is || signature == nil {
		s.skip("the case ends its function in another way")
		return
	}
	zero := true
	for _, e := range last.Results {
		zero = zero && s.isZero(e)
	}
	if zero && len(n.Body) == 1 {
		return
	}
	text := strings.TrimSpace("return " + s.zeroResults(signature))
	place, at := s.ids.take(1), s.offset(n.Colon)+1
	s.edits = append(s.edits, edit{start: at, end: at, before: " if mutant.On(" + number(place) + ") { " + text + " };", place: place})
	s.madeAt(at, at, branches, place, place, " "+text+";")
}

// endsItsList reports whether nothing behind the statements is reached.
func endsItsList(list []ast.Stmt) bool {
	switch last := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return last.Tok == token.FALLTHROUGH || last.Tok == token.GOTO
	}
	return false
}

// commClause has a case of a select never be ready: its channel is nil.
func (s site) commClause(n *ast.CommClause) {
	s.statements(n.Body)
	if n.Comm == nil {
		return
	}
	ast.Inspect(n.Comm, func(part ast.Node) bool {
		receive, is := part.(*ast.UnaryExpr)
		if is && receive.Op == token.ARROW {
			place := s.function(receive.X, "Drop", 1)
			s.made(receive.X, branches, place, place, "nil")
		}
		return !is
	})
}

// returned negates what a function reports.
func (s site) returned(n *ast.ReturnStmt) {
	for _, e := range n.Results {
		if s.isBool(e) {
			place := s.function(e, "Negate", 1)
			s.made(e, negates, place, place, "!("+s.text(e)+")")
		}
	}
}
