package server

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// The constants of the model are those of the scripts: with these values in the place of their names each line of the files
// is sent by some script.
func TestConstants(t *testing.T) {
	t.Parallel()
	values := map[string]int64{
		"DONE": int64(Done), "REFUSED": int64(Refused), "NOT_YOURS": int64(NotYours), "IN_LINE": int64(InLine), "OVERTAKEN": int64(Overtaken),
		"GUARDS": guards, "NUMBERS": numbers, "GUARD_LIFE": guardLife, "NAME": nameLength, "LIFE": waiterLife, "ASKS_AGAIN": asksAgain, "MOST_TOLD": mostTold,
		"MOST_TOKEN": mostToken, "MOST": int64(mostNumber), "CHUNK": 1000,
		"MOST_GONE": mostGone, "MOST_ENDED": mostEnded, "MOST_KEPT": mostKept, "HOUR": hour, "DAY": day,
	}
	name, local := regexp.MustCompile(`\b[A-Z][A-Z_]*\b`), regexp.MustCompile(`local (MOST_\w+|HOUR) = (\d+)`)
	var all strings.Builder
	for script := range scripts {
		all.WriteString(check.SourceOf(script))
	}
	sent := all.String()
	for _, m := range local.FindAllStringSubmatch(sent, -1) {
		if n, _ := strconv.ParseInt(m[2], 10, 64); n != values[m[1]] {
			t.Errorf("scripts have %s = %d, the model has %d", m[1], n, values[m[1]])
		}
	}
	for script := range scripts {
		// Line by line: of the two, what is a comment is not changed alike.
		for number, line := range strings.Split(file(t, script), "\n") {
			code, _, _ := strings.Cut(line, "--")
			want := name.ReplaceAllStringFunc(code, func(name string) string {
				if n, ok := values[name]; ok && !strings.Contains(code, "local "+name) {
					return strconv.FormatInt(n, 10)
				}
				return name
			})
			if want != code && !strings.Contains(sent, strings.TrimSpace(want)) && !isLocal(code) {
				t.Errorf("%s: line %d with the model's constants, %q, is not what is sent", script, number+1, want)
			}
		}
	}
}

// isLocal reports whether a line of code has a constant that is none of the library's, but of the script.
func isLocal(code string) bool {
	return regexp.MustCompile(`\b(MOST_GONE|MOST_ENDED|MOST_KEPT|HOUR|DAY)\b`).MatchString(code)
}

// file is a script as it stands in its files.
func file(t *testing.T, script string) string {
	t.Helper()
	root := filepath.Join("..", "..")
	read := func(path ...string) string {
		return string(check.Must[[]byte](t)(os.ReadFile(filepath.Join(append([]string{root}, path...)...))))
	}
	include := regexp.MustCompile(`(?m)^--#include (\w+\.lua)$`)
	at := []string{script + ".lua"}
	if _, err := os.Stat(filepath.Join(root, at[0])); err != nil {
		at = []string{"lua", at[0]}
	}
	return include.ReplaceAllStringFunc(read(at...), func(line string) string {
		return read("lua", "include", include.FindStringSubmatch(line)[1])
	})
}
