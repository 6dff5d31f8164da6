package main

import (
	"strings"
	"testing"
)

const (
	goText = `package a

import "fmt"

const one, two = 1, 2

type list[T any] struct{ of []T }

func (l *list[T]) add(x T) { l.of = append(l.of,
	x) }

func (l list[T]) size() int { return len(l.of) + one }

func size() { fmt.Println(one, one+two) }
`
	luaText = `local one = 1

local function add(a, b)
  return a + b
end

local function same(a) return a end

local two = function(a)
  local function inner()
    return one
  end
  return inner() + one
end

return one + two(one)
`
)

// A text is looked for in one declaration, wherever that stands, whatever its white space is.
func TestEdit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, old, new, want string }{
		"a function":         {"a.go size", "fmt.Println(one,\none+two)", "x", "func size() { x }"},
		"a method":           {"a.go (*list).add", "append(l.of, x)", "nil", "{ l.of = nil }"},
		"a method of values": {"a.go list.size", "one", "two", "len(l.of) + two }"},
		"a constant":         {"a.go two", "2", "3", "one, two = 1, 3"},
		"a type":             {"a.go list", "[]T", "[2]T", "struct{ of [2]T }"},
		"an import":          {"a.go import", `"fmt"`, `fmt "x"`, `import fmt "x"`},
		"nothing instead":    {"a.go size", ", one+two", "", "fmt.Println(one) }"},
		"Lua":                {"a.lua add", "a + b", "a - b", "return a - b\nend"},
		"Lua in a line":      {"a.lua same", "return a", "return 1", "same(a) return 1 end"},
		"Lua as a value":     {"a.lua two", "inner() + one", "2", "  return 2\nend"},
		"Lua within another": {"a.lua inner", "return one", "return 2", "inner()\n    return 2"},
		"outside in Lua":     {"a.lua", "one + two", "two", "return two(one)"},
		"a part of a word":   {"a.go size", "Print", "", `"Print" is 0 times in a.go size; nearest is "func size() { fmt.Println(one, one+two) }" of "size"`},
		"too often":          {"a.go size", "one", "", `"one" is 2 times in a.go size`},
		"only elsewhere":     {"a.go size", "append", "", `"append" is 0 times in a.go size; nearest is nothing`},
		"inside, not out":    {"a.lua", "a + b", "", `"a + b" is 0 times in a.lua; nearest is`},
		"no declaration":     {"a.go add", "append", "", `a.go has no add; nearest to "append" is "func (l *list[T]) add(x T) { l.of = append(l.of," of "(*list).add"`},
	} {
		file, decl, _ := strings.Cut(c.in, " ")
		text := goText
		if file == "a.lua" {
			text = luaText
		}
		e := edit{file: file, name: decl, old: strings.Split(c.old, "\n"), new: strings.Split(c.new, "\n")}
		got, err := e.apply(text)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
