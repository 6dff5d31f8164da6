package script_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// In a script that is loaded every name in capitals is a local, or what Redis gives to scripts: the constants that
// Go knows have become their values. One that Go does not know would be nil there.
func TestConstantsHaveValues(t *testing.T) {
	t.Parallel()
	notCode := regexp.MustCompile(`--.*|'[^'\n]*'`)
	local := regexp.MustCompile(`\blocal ([A-Z][A-Z_]+)\b`)
	name := regexp.MustCompile(`\b[A-Z][A-Z_]+\b`)
	scripts := proto.Scripts()
	if len(scripts) == 0 {
		t.Fatal("no scripts")
	}
	for _, script := range scripts {
		source := notCode.ReplaceAllString(script.Source(), "")
		known := []string{"KEYS", "ARGV"}
		for _, m := range local.FindAllStringSubmatch(source, -1) {
			known = append(known, m[1])
		}
		for _, got := range name.FindAllString(source, -1) {
			if !slices.Contains(known, got) {
				t.Errorf("%s has %s", script.Name(), got)
			}
		}
	}
}
