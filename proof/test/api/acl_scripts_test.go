package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

var (
	// A call, as far as its first comma: `redis.call('get'`, `redis.pcall(how == 's' and 'spublish' or 'publish'`, `call(command`.
	luaCall = regexp.MustCompile(`\b(redis\.p?call|call)\(([^,]+)`)
	// A local name of the function: `local call, at = redis.call, …`.
	luaAlias = regexp.MustCompile(`local call\b[^=]*= redis\.call\b`)
	// A function that passes on the command it is given: `local function of_readers(command, …)`.
	luaPasses = regexp.MustCompile(`function (\w+)\(command,`)
	// A variable that has the command: `local command, heard = how == 's' and 'spublish' or 'publish', 1`.
	luaCommand = regexp.MustCompile(`local command\b[^=]*= ([^,]*'[^,]*),`)
	luaName    = regexp.MustCompile(`(?:^|and |or )'([a-z]+)'`)
)

// commandsIn returns the commands that a script calls, whatever passes on what it is given, and the calls that name none.
func commandsIn(text string, passing []string) (names, unnamed []string) {
	calls := luaCall.FindAllStringSubmatch(text, -1)
	for _, passes := range passing {
		calls = append(calls, regexp.MustCompile(`\b(`+passes+`)\(([^,]+)`).FindAllStringSubmatch(text, -1)...)
	}
	for _, call := range calls {
		function, command := call[1], call[2]
		if function == "call" && !luaAlias.MatchString(text) {
			unnamed = append(unnamed, call[0])
			continue
		}
		if command == "command" {
			if luaPasses.MatchString(text) {
				continue // it is named where this function is called
			}
			command = ""
			for _, value := range luaCommand.FindAllStringSubmatch(text, -1) {
				command = value[1]
			}
		}
		found := luaName.FindAllStringSubmatch(command, -1)
		if len(found) == 0 {
			unnamed = append(unnamed, call[0])
		}
		for _, name := range found {
			names = append(names, name[1])
		}
	}
	return names, unnamed
}

func TestACLCommandsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	files := check.Must[[]string](t)(filepath.Glob(filepath.Join(root, "*.lua")))
	files = append(files, check.Must[[]string](t)(filepath.Glob(filepath.Join(root, "lua", "*.lua")))...)
	files = append(files, check.Must[[]string](t)(filepath.Glob(filepath.Join(root, "lua", "include", "*.lua")))...)
	if len(files) == 0 {
		t.Fatal("no scripts")
	}
	texts := map[string]string{}
	var passing []string
	for _, file := range files {
		texts[file] = string(check.Must[[]byte](t)(os.ReadFile(file)))
		for _, passes := range luaPasses.FindAllStringSubmatch(texts[file], -1) {
			passing = append(passing, passes[1])
		}
	}
	got := []string{"eval", "evalsha", "subscribe", "wait"}
	for file, text := range texts {
		var code []string
		for line := range strings.Lines(text) {
			before, _, _ := strings.Cut(line, "--")
			if !strings.Contains(before, "function ") || luaPasses.MatchString(before) {
				code = append(code, before)
			}
		}
		names, unnamed := commandsIn(strings.Join(code, "\n"), passing)
		for _, call := range unnamed {
			t.Errorf("%s: %s…: the command is not named where it is called", file, call)
		}
		got = append(got, names...)
	}
	got = slices.DeleteFunc(got, func(name string) bool { return name == "spublish" }) // on a Cluster, in place of publish
	slices.Sort(got)
	want := slices.Sorted(slices.Values(world.ACLCommands))
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("the scripts call other commands than the list has (-list +scripts):\n%s", diff)
	}
}
