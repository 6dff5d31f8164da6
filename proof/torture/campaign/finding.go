package campaign

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// some describes the first few findings.
func some(found []check.Finding) string {
	var b strings.Builder
	for i, f := range found {
		if i == 5 {
			fmt.Fprintf(&b, "and %d more\n", len(found)-i)
			break
		}
		b.WriteString(describe(f, 8))
	}
	return b.String()
}

// describe says what was found, and shows the first events.
func describe(f check.Finding, events int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n", f)
	for _, e := range f.Events[:min(events, len(f.Events))] {
		line, err := json.Marshal(e)
		if err != nil {
			line = []byte(err.Error())
		}
		fmt.Fprintf(&b, "\t%s\n", line)
	}
	return b.String()
}
