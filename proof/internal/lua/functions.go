package lua

import (
	"fmt"
)

// A Function is the main chunk of a script, or a function in it, with what Lua 5.1 limits: it may have 200 locals that are alive
// at once, and 60 upvalues.
type Function struct {
	Name     string // empty if it has none, and for the main chunk
	Line     int    // in which it begins; 0 for the main chunk
	Locals   int    // most that are alive at once, with parameters, and with what Lua adds for loops and for `...`
	Upvalues int    // locals of functions around it that it uses, or a function in it
}

// String names the function for an error.
func (f Function) String() string {
	switch {
	case f.Line == 0:
		return "the main chunk"
	case f.Name == "":
		return fmt.Sprintf("the function in line %d", f.Line)
	}
	return fmt.Sprintf("%s in line %d", f.Name, f.Line)
}

// Functions returns the main chunk of a script and then its functions, in the order in which they begin.
func Functions(source string) (all []Function, err error) {
	w := &walk{source: source}
	if w.tokens, err = Tokens(source); err != nil {
		return nil, err
	}
	defer func() {
		switch said := recover().(type) {
		case nil:
		case syntaxError:
			all, err = nil, said
		default:
			panic(said)
		}
	}()
	w.enter("", -1)
	w.block()
	w.want("")
	for _, s := range w.all {
		if s.start >= 0 {
			s.Line = w.line(s.start)
		}
		s.Upvalues = len(s.outside)
		all = append(all, s.Function)
	}
	return all, nil
}

// A syntaxError ends a walk.
type syntaxError struct{ text string }

func (e syntaxError) Error() string { return e.text }

// A walk goes through a script, and knows at each place which locals are alive.
type walk struct {
	source string
	tokens []Token
	at     int    // of the next token
	in     *scope // the function around it
	all    []*scope
}

// A scope is a function while it is read.
type scope struct {
	Function
	start   int // where it begins; -1: it is the main chunk
	around  *scope
	alive   []*local
	outside map[*local]bool // of functions around it
}

// A local is one declaration of a name.
type local struct{ name string }

func (w *walk) enter(name string, start int) {
	w.in = &scope{Function: Function{Name: name}, start: start, around: w.in, outside: map[*local]bool{}}
	w.all = append(w.all, w.in)
}

// declare makes locals alive, until their block ends.
func (w *walk) declare(names ...string) {
	for _, name := range names {
		w.in.alive = append(w.in.alive, &local{name})
	}
	w.in.Locals = max(w.in.Locals, len(w.in.alive))
}

// use looks for a local with this name. If it is one of a function around, each function in between has it as an upvalue.
func (w *walk) use(name string) {
	for s := w.in; s != nil; s = s.around {
		for i := len(s.alive) - 1; i >= 0; i-- {
			if s.alive[i].name == name {
				for f := w.in; f != s; f = f.around {
					f.outside[s.alive[i]] = true
				}
				return
			}
		}
	}
}
