package script_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

var comment = regexp.MustCompile(`--.*`)

var function = regexp.MustCompile(`(?m)^local function (\w+)\(`)

// A run of a script pays for each function that it makes: so it has none that it does not use.
func TestScriptsUseTheirFunctions(t *testing.T) {
	t.Parallel()
	for _, script := range proto.Scripts() {
		code := codeOf(script)
		for _, m := range function.FindAllStringSubmatch(code, -1) {
			if uses := regexp.MustCompile(`\b`+m[1]+`\b`).FindAllString(code, 2); len(uses) < 2 {
				t.Errorf("%s makes %s, and does not use it", script.Name(), m[1])
			}
		}
	}
}

// What stands in the files is used by some script: else it would never be sent.
func TestFunctionsAreUsed(t *testing.T) {
	t.Parallel()
	var sent strings.Builder
	for _, script := range proto.Scripts() {
		sent.WriteString(script.Source())
	}
	files := check.Must[[]string](t)(filepath.Glob("../../../lua/include/*.lua"))
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, name := range files {
		source := string(check.Must[[]byte](t)(os.ReadFile(name)))
		for _, m := range function.FindAllString(source, -1) {
			if !strings.Contains(sent.String(), m) {
				t.Errorf("%s: no script has %q", name, m)
			}
		}
	}
}

// Files that are included have functions and other locals, and each paragraph begins with the first of them: what does anything
// else would not be sent. Where they are included is not said to the server.
func TestIncludedFilesDeclare(t *testing.T) {
	t.Parallel()
	for _, name := range check.Must[[]string](t)(filepath.Glob("../../../lua/include/*.lua")) {
		source := comment.ReplaceAllString(string(check.Must[[]byte](t)(os.ReadFile(name))), "")
		apart := true
		for line := range strings.Lines(source) {
			isDeclared := strings.HasPrefix(line, "local ")
			if !isDeclared && !strings.HasPrefix(line, " ") && line != "\n" && line != "end\n" && (apart || !strings.HasPrefix(line, "if ")) {
				t.Errorf("%s: %q is no declaration, and stands behind none", name, line)
			}
			if isDeclared {
				apart = false
			} else if line == "\n" {
				apart = true
			}
		}
	}
	for _, script := range proto.Scripts() {
		if strings.Contains(script.Source(), "#include") {
			t.Errorf("%s says what it includes", script.Name())
		}
	}
}

// What most calls do ends before a function is made and the head is read, although all is included at the begin of the file.
func TestShortCutsMakeNoFunctions(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, script := range proto.Scripts() {
		if name := script.Name(); name != "obtain" && name != "release" {
			continue
		}
		looked++
		code := codeOf(script)
		for _, late := range []string{"local function", "local value, ttl"} {
			if strings.Index(code, "return") > strings.Index(code, late) {
				t.Errorf("%s has %q before it may end", script.Name(), late)
			}
		}
	}
	if looked != 2 {
		t.Errorf("looked at %d scripts, want 2", looked)
	}
}

// codeOf is a script as it is sent, without its comments.
func codeOf(script *wire.Script) string {
	return comment.ReplaceAllString(script.Source(), "")
}
