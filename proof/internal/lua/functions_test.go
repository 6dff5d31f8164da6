package lua

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What Lua keeps for the main chunk of a small script, and for each function in it.
func TestFunctions(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"":                            "the main chunk 0 0",
		"local a, b = 1, 2 local c":   "the main chunk 3 0",
		"local a local a":             "the main chunk 2 0",
		"a = b; b.c[d]:e 'f' {a = a}": "the main chunk 0 0",
		"-- local a\n--[[ local b ]]": "the main chunk 0 0",
		`local a = "local b" .. [[; local c]] .. 'local d'`:                                                "the main chunk 1 0",
		"do local a, b end do local c end":                                                                 "the main chunk 2 0",
		"local a do local b do local c end; end local d, e":                                                "the main chunk 3 0",
		"if a then local b, c elseif d then local e else local f, g, h end":                                "the main chunk 3 0",
		"while a do local b, c end local d":                                                                "the main chunk 2 0",
		"repeat local a until a local b":                                                                   "the main chunk 1 0",
		"for i = 1, 2, 3 do local a end local b":                                                           "the main chunk 5 0",
		"for k, v in pairs(a) do local b, c end":                                                           "the main chunk 7 0",
		"for i = 1, 2 do for j = 3, 4 do end; end":                                                         "the main chunk 8 0",
		"local function f(a, b) local c return a end":                                                      "the main chunk 1 0, f in line 1 3 0",
		"function f(...) return ... end":                                                                   "the main chunk 0 0, f in line 1 1 0",
		"\nfunction a.b.c:d(e) return self end":                                                            "the main chunk 0 0, a.b.c.d in line 2 2 0",
		"local f = function() end":                                                                         "the main chunk 1 0, the function in line 1 0 0",
		"f(function(a) end, {g = function() local b end})":                                                 "the main chunk 0 0, the function in line 1 1 0, the function in line 1 1 0",
		"local function f() return f() end":                                                                "the main chunk 1 0, f in line 1 0 1",
		"local f = function() return f end":                                                                "the main chunk 1 0, the function in line 1 0 0",
		"local a, b function f() return a + a * -#a .. b end":                                              "the main chunk 2 0, f in line 1 0 2",
		"local a function f(a) return a end":                                                               "the main chunk 1 0, f in line 1 1 0",
		"local a function f() local a = a return a end":                                                    "the main chunk 1 0, f in line 1 1 1",
		"local a do local a function f() return a end; end function g() return a end":                      "the main chunk 2 0, f in line 1 0 1, g in line 1 0 1",
		"do local a end function f() return a end":                                                         "the main chunk 1 0, f in line 1 0 0",
		"local a function f() a = 1; b.a = {a = 2, [a] = a}; b:a() end":                                    "the main chunk 1 0, f in line 1 0 1",
		"local a, b\nfunction f()\n local c\n function g() return a, c end;\nend":                          "the main chunk 2 0, f in line 2 1 1, g in line 4 0 2",
		"local t function t.f() end":                                                                       "the main chunk 1 0, t.f in line 1 0 0",
		"local t function f() function t.g() end; end":                                                     "the main chunk 1 0, f in line 1 0 1, t.g in line 1 0 0",
		"for i = 1, 2 do f(function() return i end) end":                                                   "the main chunk 4 0, the function in line 1 0 1",
		"repeat local a until f(function() return a end)":                                                  "the main chunk 1 0, the function in line 1 0 1",
		"local a = 1 + 2 local b = (a)[1] local c = 'x' (f)(function() return c, not b, -a ^ 2 .. '' end)": "the main chunk 3 0, the function in line 1 0 3",
	} {
		if got := described(source); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", source, got, want)
		}
	}
}

// described says what Functions does.
func described(source string) string {
	all, err := Functions(source)
	if err != nil {
		return err.Error()
	}
	var texts []string
	for _, f := range all {
		texts = append(texts, fmt.Sprint(f, " ", f.Locals, " ", f.Upvalues))
	}
	return strings.Join(texts, ", ")
}

// What is no Lua is an error, and not counted.
func TestFunctionsOfNoLua(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"local a\nend":        `line 2: "end" in place of ""`,
		"function f(":         `line 1: "" in place of "a name"`,
		"if a then local b":   `line 1: "" in place of "end"`,
		"a = {1 2}":           `line 1: "2" in place of "}"`,
		"local 'a'":           `line 1: "'a'" in place of "a name"`,
		"\n\nlocal a = 1 $ 2": `byte 14: no token of Lua: "$ 2"`,
	} {
		all, err := Functions(source)
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", source, err, want)
		}
		if diff := cmp.Diff([]Function(nil), all); diff != "" {
			t.Errorf("%q (-want +got):\n%s", source, diff)
		}
	}
}
