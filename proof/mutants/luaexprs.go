package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/seed-14de3678/redislock/proof/internal/lua"
)

// An expression of Lua: where it stands, and what it is at its top.
type expression struct {
	span
	top string // the operator; "number", "constant" or "" without one
}

// priorities of binary operators, on their left and on their right.
var priorities = map[string][2]int{
	"or": {1, 1}, "and": {2, 2}, "<": {3, 3}, ">": {3, 3}, "<=": {3, 3}, ">=": {3, 3}, "~=": {3, 3}, "==": {3, 3},
	"..": {5, 4}, "+": {6, 6}, "-": {6, 6}, "*": {7, 7}, "/": {7, 7}, "%": {7, 7}, "^": {10, 9},
}

// unary is the priority of operators with one operand.
const unary = 8

var (
	comparisons = []string{"<", ">", "<=", ">=", "~=", "=="}
	unequal     = []string{"-", "/", "%", "..", "<", ">", "<=", ">="}
	logical     = []string{"and", "or"}
)

// condition reads a condition, negates it, and has it never hold.
func (f *luaFile) condition() {
	e := f.expression(true)
	f.add(negates, e.span, "not ("+f.text(e.span)+")")
	f.add(branches, e.span, "false")
}

// returned reads what is returned, and negates it where that is yes or no.
func (f *luaFile) returned() {
	for _, e := range f.list() {
		if slices.Contains(comparisons, e.top) || e.top == "not" {
			f.add(negates, e.span, "not ("+f.text(e.span)+")")
		}
	}
}

// list reads expressions with commas between them.
func (f *luaFile) list() []expression {
	all := []expression{f.expression(false)}
	for f.take(",") {
		all = append(all, f.expression(false))
	}
	return all
}

// expression reads one. In a condition it counts alone whether it is true.
func (f *luaFile) expression(isCondition bool) expression { return f.binary(0, isCondition) }

// binary reads operands that are bound more tightly than the limit says.
func (f *luaFile) binary(limit int, isCondition bool) expression {
	first := f.at
	var left expression
	switch {
	case f.is("not", "-", "#"):
		operator := f.next().Text
		f.at++
		f.binary(unary, isCondition && operator == "not")
		left = expression{f.since(first), operator}
	default:
		left = f.simple()
	}
	for {
		operator := f.next().Text
		priority, is := priorities[operator]
		if !is || f.next().Kind == lua.Quoted || priority[0] <= limit {
			return left
		}
		f.at++
		right := f.binary(priority[1], isCondition)
		f.operands(operator, left, right, isCondition)
		left = expression{f.since(first), operator}
	}
}

// operands swaps the operands of an operator, or negates them.
func (f *luaFile) operands(operator string, left, right expression, isCondition bool) {
	if slices.Contains(unequal, operator) {
		f.add(swaps, span{left.start, right.end}, "("+f.text(right.span)+") "+operator+" ("+f.text(left.span)+")")
	}
	if !slices.Contains(logical, operator) {
		return
	}
	for i, e := range []expression{left, right} {
		if (i == 0 || isCondition) && !slices.Contains(logical, e.top) {
			f.add(negates, e.span, "not ("+f.text(e.span)+")")
		}
	}
}

// simple reads an operand.
func (f *luaFile) simple() expression {
	first := f.at
	next := f.next()
	switch {
	case next.Kind == lua.Numeral:
		f.at++
		f.numeral(next)
		return expression{f.since(first), "number"}
	case next.Kind == lua.Quoted || f.is("nil", "true", "false", "..."):
		f.at++
		return expression{f.since(first), "constant"}
	case f.is("{"):
		f.table()
		return expression{f.since(first), ""}
	case f.take("function"):
		f.body(f.inside[len(f.inside)-1])
		return expression{f.since(first), ""}
	}
	f.suffixed()
	return expression{f.since(first), ""}
}

// numeral makes a number one more and one less, and twice and half of what it is, unless it is small.
func (f *luaFile) numeral(t lua.Token) {
	value, err := strconv.ParseFloat(t.Text, 64)
	if err != nil {
		return
	}
	seen := []float64{value}
	for _, other := range []float64{value + 1, value - 1, value * 2, float64(int64(value / 2))} {
		if !slices.Contains(seen, other) && (value >= smallest || len(seen) < 3) {
			seen = append(seen, other)
			f.add(changes, span{t.Start, t.End}, fmt.Sprintf("(%s)", strconv.FormatFloat(other, 'f', -1, 64)))
		}
	}
}

// table reads a table, and leaves out each field with a name.
func (f *luaFile) table() {
	f.want("{")
	for !f.take("}") {
		switch {
		case f.take("["):
			f.expression(false)
			f.want("]")
			f.want("=")
			f.dropped(f.expression(false))
		case f.next().Kind == lua.Name && f.tokens[f.at+1].Text == "=":
			f.at += 2
			f.dropped(f.expression(false))
		default:
			f.expression(false)
		}
		if !f.take(",") {
			f.take(";")
		}
	}
}

// dropped leaves out a value.
func (f *luaFile) dropped(e expression) {
	if e.top != "number" && !slices.Contains([]string{"nil", "false", "...", "''"}, f.text(e.span)) {
		f.add(drops, e.span, "nil")
	}
}

// suffixed reads a name or a parenthesis, and what is called or looked up in it.
func (f *luaFile) suffixed() {
	first := f.at
	if f.take("(") {
		f.expression(false)
		f.want(")")
	} else {
		f.wantName()
	}
	for {
		switch {
		case f.take("."):
			f.wantName()
		case f.take("["):
			f.expression(false)
			f.want("]")
		case f.take(":"):
			f.wantName()
			f.arguments("")
		case f.next().Kind == lua.Quoted:
			f.at++
		case f.is("{"):
			f.table()
		case f.is("("):
			f.arguments(f.text(f.since(first)))
		default:
			return
		}
	}
}

// arguments reads those of a call, and leaves out each: commands have one word less, and functions get nil.
func (f *luaFile) arguments(of string) {
	f.want("(")
	if f.take(")") {
		return
	}
	command := of == "redis.call" || of == "redis.pcall"
	end := 0
	for i, e := range f.list() {
		switch {
		case !command:
			f.dropped(e)
		case i > 0:
			f.add(drops, span{end, e.end}, "")
		}
		end = e.end
	}
	f.want(")")
}
