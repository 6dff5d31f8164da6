package cli

import (
	"strings"
	"testing"
)

func TestIsUTF8(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env, system string
		want        bool
	}{
		{"LANG=de_DE.UTF-8", "linux", true},
		{"LANG=C.utf8", "linux", true},
		{"LANG=C", "linux", false},
		{"", "linux", false},
		{"", "windows", true},
		{"LC_ALL=C LANG=en_US.UTF-8", "linux", false},
		{"LC_CTYPE=en_US.UTF-8 LANG=C", "linux", true},
	} {
		env := map[string]string{}
		for _, one := range strings.Fields(tt.env) {
			name, value, _ := strings.Cut(one, "=")
			env[name] = value
		}
		if got := isUTF8(func(name string) string { return env[name] }, tt.system); got != tt.want {
			t.Errorf("%q on %s: %t", tt.env, tt.system, got)
		}
	}
}
