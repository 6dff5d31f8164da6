package cli

import (
	"cmp"
	"os"
	"runtime"
	"strings"
)

// UTF8 reports whether the locale has more than ASCII, for lines, boxes and units.
func UTF8() bool { return isUTF8(os.Getenv, runtime.GOOS) }

func isUTF8(env func(string) string, system string) bool {
	locale := strings.ToLower(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	if locale == "" {
		return system == "windows" || system == "darwin" // where these are rarely set
	}
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
