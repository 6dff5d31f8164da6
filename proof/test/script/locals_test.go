package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/internal/lua"
)

// How many locals may be alive at once in a function of a script, or outside of all functions, and how many upvalues a function may
// have. Lua allows 200 and 60, and refuses a script with more. A script is put together of parts, so whoever adds a local to one
// of them does not see how many there are.
const (
	mostLocals   = 150
	mostUpvalues = 45
)

// tooMany says which functions of a script have more than that.
func tooMany(source string) (wrong []string, err error) {
	all, err := lua.Functions(source)
	for _, f := range all {
		if f.Locals > mostLocals {
			wrong = append(wrong, fmt.Sprintf("%s has %d locals at once, at most %d are allowed", f, f.Locals, mostLocals))
		}
		if f.Upvalues > mostUpvalues {
			wrong = append(wrong, fmt.Sprintf("%s has %d upvalues, at most %d are allowed", f, f.Upvalues, mostUpvalues))
		}
	}
	return wrong, err
}

// No script comes near the limits of Lua, as it is sent.
func TestLocalsOfScripts(t *testing.T) {
	t.Parallel()
	scripts := proto.Scripts()
	if len(scripts) == 0 {
		t.Fatal("no scripts")
	}
	for _, script := range scripts {
		wrong, err := tooMany(script.Source())
		if err != nil {
			t.Errorf("%s cannot be read: %v", script.Name(), err)
		}
		for _, text := range wrong {
			t.Errorf("%s: %s", script.Name(), text)
		}
		all, _ := lua.Functions(script.Source())
		var locals, upvalues int
		for _, f := range all {
			locals, upvalues = max(locals, f.Locals), max(upvalues, f.Upvalues)
		}
		t.Logf("%s: %d functions, up to %d locals and %d upvalues", script.Name(), len(all), locals, upvalues)
	}
}

// locals declares n of them, and uses returns all of them.
func locals(n int) string { return repeated(n, "local a%d ") }
func uses(n int) string   { return repeated(n, "b = a%d ") }

func repeated(n int, text string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, text, i)
	}
	return b.String()
}

// One local or one upvalue too many is noticed, wherever it is.
func TestLocalsJudge(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ source, want string }{
		{locals(150), ""},
		{locals(151), "the main chunk has 151 locals at once, at most 150 are allowed"},
		{"do " + locals(100) + "end do " + locals(100) + "end", ""},
		{locals(100) + "do " + locals(50) + "end do " + locals(51) + "end", "the main chunk has 151 locals at once, at most 150 are allowed"},
		{"for i = 1, 2 do " + locals(146) + "end", ""},
		{"for i = 1, 2 do " + locals(147) + "end", "the main chunk has 151 locals at once, at most 150 are allowed"},
		{locals(149) + "local function f(x) " + locals(149) + "end", ""},
		{locals(149) + "local function f(x, y) " + locals(149) + "end", "f in line 1 has 151 locals at once, at most 150 are allowed"},
		{locals(100) + "function f() " + uses(45) + uses(45) + "end", ""},
		{locals(100) + "\nfunction f() " + uses(46) + "end", "f in line 2 has 46 upvalues, at most 45 are allowed"},
		{locals(100) + "function f() local function g() " + uses(45) + "end; end", ""},
		{
			locals(100) + "function f() local function g() " + uses(46) + "end; end",
			"f in line 1 has 46 upvalues, at most 45 are allowed, g in line 1 has 46 upvalues, at most 45 are allowed",
		},
		{"function f() " + locals(46) + "return function() " + uses(46) + "end; end", "the function in line 1 has 46 upvalues, at most 45 are allowed"},
	} {
		wrong, err := tooMany(test.source)
		if got := strings.Join(wrong, ", "); err != nil || got != test.want {
			t.Errorf("%.60s…: got %q and %v, want %q", test.source, got, err, test.want)
		}
	}
}

// What is counted is what the Lua of a server counts: with as many more as are missing up to its limit it takes a script, and
// with one more it does not.
func TestLocalsAsLuaCounts(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t, redistest.Redis).Client(t)
	const limitOfLocals, limitOfUpvalues = 200, 60
	most := func(source string) (locals, upvalues int) {
		all, err := lua.Functions(source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		for _, f := range all {
			locals, upvalues = max(locals, f.Locals), max(upvalues, f.Upvalues)
		}
		return locals, upvalues
	}
	load := func(source string, n int, want string) {
		t.Helper()
		err := rdb.ScriptLoad(t.Context(), source).Err()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s… with %d: got %v, want %q", source, n, err, want)
		}
	}
	for _, source := range []string{
		"HERE", "local x, y = 1, 2 HERE", "do local x end HERE", "local x do local y, z end HERE", "local x local x HERE",
		"for x = 1, 2 do HERE end", "for x, y in pairs({}) do HERE end", "for x = 1, 2 do for y = 1, 2 do HERE end; end",
		"local x for y = 1, 2 do end HERE", "repeat local x HERE until x", "while x do local y HERE end", "if x then local y else HERE end",
		"local function x() HERE end", "local x = function(y, z) HERE end", "local function x(...) HERE end",
		"local x = {} function x.y(z, ...) HERE end", "local x = {} function x:y() HERE end", "local x, y = function() local z HERE end",
	} {
		declared := func(n int) string { return strings.Replace(source, "HERE", locals(n), 1) }
		n := 0
		for all, _ := most(declared(n + 1)); all <= limitOfLocals; all, _ = most(declared(n + 1)) {
			n++
		}
		load(declared(n), n, "")
		load(declared(n+1), n+1, "more than 200 local variables")
	}
	for _, source := range []string{
		"function f() HERE end", "function f() b = a0 HERE end", "local x function f() x = x HERE end", "local x, y function f() x.y = y HERE end",
		"function f() local a0 HERE end", "local x function f() return function() local y = x HERE end; end",
		"local x function f() local z = x return function() local y = z HERE end; end",
	} {
		used := func(n int) string { return locals(100) + strings.Replace(source, "HERE", uses(n), 1) }
		n := 0
		for _, all := most(used(n + 1)); all <= limitOfUpvalues; _, all = most(used(n + 1)) {
			n++
		}
		load(used(n), n, "")
		load(used(n+1), n+1, "more than 60 upvalues")
	}
}
