package lua

import (
	"fmt"
	"strings"
)

// The grammar of Lua 5.1: what a walk does at each place.

func (w *walk) is(texts ...string) bool {
	next := w.tokens[w.at]
	for _, text := range texts {
		if next.Text == text && next.Kind != Quoted {
			return true
		}
	}
	return false
}

// take goes beyond the next token if it is one of these.
func (w *walk) take(texts ...string) bool {
	if !w.is(texts...) {
		return false
	}
	w.at++
	return true
}

// want goes beyond the next token, which has to be this one; the empty text is the end of the script.
func (w *walk) want(text string) {
	if !w.is(text) {
		panic(syntaxError{fmt.Sprintf("line %d: %q in place of %q", w.line(w.tokens[w.at].Start), w.tokens[w.at].Text, text)})
	}
	if text != "" {
		w.at++
	}
}

// line is that of a place.
func (w *walk) line(at int) int { return 1 + strings.Count(w.source[:at], "\n") }

// name goes beyond the next token, which has to be a name.
func (w *walk) name() string {
	if w.tokens[w.at].Kind != Name {
		w.want("a name")
	}
	w.at++
	return w.tokens[w.at-1].Text
}

// names reads names with commas between them.
func (w *walk) names() []string {
	all := []string{w.name()}
	for w.take(",") {
		all = append(all, w.name())
	}
	return all
}

// block reads statements, and ends what they have declared.
func (w *walk) block() {
	defer w.ends(len(w.in.alive))
	w.statements()
}

// ends has only the first n locals of the function stay alive.
func (w *walk) ends(n int) { w.in.alive = w.in.alive[:n] }

func (w *walk) statements() {
	for !w.is("", "end", "else", "elseif", "until") {
		w.statement()
		w.take(";")
	}
}

func (w *walk) statement() {
	switch start := w.tokens[w.at].Start; {
	case w.take("if"):
		w.branches()
	case w.take("while"):
		w.expression()
		w.want("do")
		w.block()
		w.want("end")
	case w.take("do"):
		w.block()
		w.want("end")
	case w.take("for"):
		w.loop()
	case w.take("repeat"):
		before := len(w.in.alive)
		w.statements()
		w.want("until")
		w.expression() // in which the locals of the block are alive
		w.ends(before)
	case w.take("function"):
		w.global(start)
	case w.take("local"):
		w.local(start)
	case w.take("return"):
		if !w.is("", "end", "else", "elseif", "until", ";") {
			w.list()
		}
	case w.take("break"):
	default:
		w.suffixed()
		for w.take(",") {
			w.suffixed()
		}
		if w.take("=") {
			w.list()
		}
	}
}

func (w *walk) branches() {
	w.expression()
	w.want("then")
	w.block()
	for w.take("elseif") {
		w.expression()
		w.want("then")
		w.block()
	}
	if w.take("else") {
		w.block()
	}
	w.want("end")
}

// loop reads a loop with a variable. Lua keeps three more values as locals while it runs, of which no name is one of Lua.
func (w *walk) loop() {
	names := w.names()
	if !w.take("=") {
		w.want("in")
	}
	w.list()
	w.want("do")
	before := len(w.in.alive)
	w.declare("(for)", "(for)", "(for)")
	w.declare(names...)
	w.block()
	w.want("end")
	w.ends(before)
}

// global reads a function that is assigned.
func (w *walk) global(start int) {
	name, self := w.name(), false
	w.use(name)
	for !self && w.is(".", ":") {
		self = w.is(":")
		w.at++
		name += "." + w.name()
	}
	w.body(name, start, self)
}

// local reads a declaration. What it declares is alive behind its end; a function knows itself.
func (w *walk) local(start int) {
	if w.take("function") {
		name := w.name()
		w.declare(name)
		w.body(name, start, false)
		return
	}
	names := w.names()
	if w.take("=") {
		w.list()
	}
	w.declare(names...)
}

// body reads the parameters and the body of a function. One with `...` has a local with all of them.
func (w *walk) body(name string, start int, self bool) {
	w.enter(name, start)
	if self {
		w.declare("self")
	}
	w.want("(")
	for !w.take(")") {
		if w.take("...") {
			w.declare("arg")
		} else {
			w.declare(w.name())
		}
		w.take(",")
	}
	w.block()
	w.want("end")
	w.in = w.in.around
}

// list reads expressions with commas between them.
func (w *walk) list() {
	w.expression()
	for w.take(",") {
		w.expression()
	}
}

// expression reads operands, and the operators between them. How tightly these bind is all the same.
func (w *walk) expression() {
	for {
		for w.take("not", "-", "#") {
		}
		w.operand()
		if !w.take("or", "and", "<", ">", "<=", ">=", "~=", "==", "..", "+", "-", "*", "/", "%", "^") {
			return
		}
	}
}

func (w *walk) operand() {
	next := w.tokens[w.at]
	switch {
	case next.Kind == Numeral || next.Kind == Quoted || w.is("nil", "true", "false", "..."):
		w.at++
	case w.is("{"):
		w.table()
	case w.take("function"):
		w.body("", next.Start, false)
	default:
		w.suffixed()
	}
}

// suffixed reads a name or a parenthesis, and what is called or looked up in it.
func (w *walk) suffixed() {
	if w.take("(") {
		w.expression()
		w.want(")")
	} else {
		w.use(w.name())
	}
	for {
		switch {
		case w.take("."):
			w.name()
		case w.take("["):
			w.expression()
			w.want("]")
		case w.take(":"):
			w.name()
		case w.tokens[w.at].Kind == Quoted:
			w.at++
		case w.is("{"):
			w.table()
		case w.take("("):
			if !w.is(")") {
				w.list()
			}
			w.want(")")
		default:
			return
		}
	}
}

func (w *walk) table() {
	w.want("{")
	for !w.take("}") {
		switch {
		case w.take("["):
			w.expression()
			w.want("]")
			w.want("=")
		case w.tokens[w.at].Kind == Name && w.tokens[w.at+1].Text == "=":
			w.at += 2
		}
		w.expression()
		if !w.is("}") && !w.take(",", ";") {
			w.want("}")
		}
	}
}
