package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exampleHost is what the page calls the machine on which it is run.
const exampleHost = "web-3"

// compare returns what is wrong with lines of the page, empty if nothing is.
func compare(page []string, now string) string {
	want, have := normal(page), normal(strings.Split(now, "\n"))
	if matches(want, have) {
		return ""
	}
	return fmt.Sprintf("It writes:\n%s\nThe page differs (- page, + now, # what may vary):\n%s", now, cmp.Diff(want, have))
}

// normal makes lines comparable: without empty lines at the end, and without what varies from run to run. An exit
// status that the page shows does not vary.
func normal(lines []string) (plain []string) {
	isStatus := false
	for _, line := range lines {
		if !isStatus {
			line = withoutWhatVaries(line)
		}
		isStatus = line == "echo $?"
		plain = append(plain, strings.TrimSpace(line))
	}
	for len(plain) > 0 && plain[len(plain)-1] == "" {
		plain = plain[:len(plain)-1]
	}
	return plain
}

// matches compares lines. A line "…" stands for any number of them.
func matches(want, have []string) bool {
	switch {
	case len(want) == 0:
		return len(have) == 0
	case want[0] == "…":
		for skip := range len(have) + 1 {
			if matches(want[1:], have[skip:]) {
				return true
			}
		}
		return false
	default:
		return len(have) > 0 && want[0] == have[0] && matches(want[1:], have[1:])
	}
}

// varying are the parts of a line that differ from run to run, in the order in which they are replaced.
var varying = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\bhost=("[^"]*"|[^\s,;)]+)`), "host=#"},
	{regexp.MustCompile(`\bredislock\.test\b`), "redislock"},
	{regexp.MustCompile(`\bredislock-([a-z]+)-[a-z2-7]{8}:`), "redislock-$1-#:"}, // cli.OwnPrefix
	{regexp.MustCompile(`\b[A-Za-z0-9_-]{22}\b`), "#"},                           // a token
	{regexp.MustCompile(`\b(\d+(\.\d+)?(d|h|m|s|ms|µs|ns))+\b`), "#"},            // a duration
	{regexp.MustCompile(`\d+([.,:]\d+)*`), "#"},
	{regexp.MustCompile(`[▁▂▃▄▅▆▇█▉▊▋▌▍▎▏░▒▓]+`), "█"}, // a bar
	{regexp.MustCompile(`([-─━═=])[-─━═=]{2,}`), "$1$1"},
	{regexp.MustCompile(`\s+`), " "},
}

// withoutWhatVaries replaces digits, durations, times, tokens, the host and the padding of columns.
func withoutWhatVaries(line string) string {
	if host, err := os.Hostname(); err == nil && host != "" {
		line = regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllString(line, exampleHost)
	}
	for _, v := range varying {
		line = v.what.ReplaceAllString(line, v.by)
	}
	return line
}

func TestPageComparison(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, page, now string
		want            bool
	}{
		{"same", "a\nb", "a\nb\n", true},
		{"another word", "orders", "others", false},
		{"a line more", "a", "a\nb\n", false},
		{"a line less", "a\nb", "a\n", false},
		{"nothing", "", "", true},
		{"numbers", "pid 12, 1,204 of 3.5", "pid 7, 12 of 400", true},
		{"durations", "1m30s left", "45.2s left", true},
		{"a duration for none", "1m30s left", "none left", false},
		{"times", "2026-03-01T09:26:53Z", "2027-11-23T02:16:54Z", true},
		{"hosts", "host=web-3 pid=812", "host=db1.example pid=4", true},
		{"own prefix", "redislock-tune-abcdefgh:1", "redislock-tune-zyxwvu77:2", true},
		{"tokens", "by abcdefghijklmnopqrstuv", "by ABCDEFGHIJKLMNOPQRST_2", true},
		{"padding", "KEY  MODE", "KEY           MODE", true},
		{"no padding", "KEY  MODE", "KEYMODE", false},
		{"rule", "-----", "---------", true},
		{"any lines", "a\n…\nd", "a\nb\nc\nd", true},
		{"no lines", "a\n…\nd", "a\nd", true},
		{"any lines, another end", "a\n…\nd", "a\nb\nc\n", false},
		{"any lines at the end", "a\n…", "a\nb\n", true},
		{"another exit status", "echo $?\n75", "echo $?\n79\n", false},
	} {
		if text := compare(strings.Split(tt.page, "\n"), tt.now); (text == "") != tt.want {
			t.Errorf("%s: matches: %t, want %t\n%s", tt.name, text == "", tt.want, text)
		}
	}
}
