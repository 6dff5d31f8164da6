package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// A name, and a letter, means the same in all commands that have it: what differs is named here, with what it has in common.
func TestFlagsMeanOneThing(t *testing.T) {
	t.Parallel()
	alike := map[string]string{
		"redis": "the server; what is used without it differs",
		"ttl":   "the lease of a lock",
		"wait":  "how long to wait for a lock at most",
	}
	used := map[string]bool{}
	seen, letters := map[string]*pflag.Flag{}, map[string]string{}
	for _, c := range tool().Commands {
		if c.Hidden {
			continue
		}
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		c.Define(flags)
		flags.VisitAll(func(f *pflag.Flag) {
			if before := seen[f.Name]; before != nil {
				_, ok := alike[f.Name]
				used[f.Name] = used[f.Name] || ok && before.Usage != f.Usage
				if before.Value.Type() != f.Value.Type() || before.Usage != f.Usage && !ok {
					t.Errorf("%s --%s: %q, elsewhere %q", c.Name, f.Name, f.Usage, before.Usage)
				}
			}
			if name, ok := letters[f.Shorthand]; f.Shorthand != "" && ok && name != f.Name {
				t.Errorf("%s -%s is --%s, elsewhere --%s", c.Name, f.Shorthand, f.Name, name)
			}
			seen[f.Name], letters[f.Shorthand] = f, f.Name
		})
	}
	for _, name := range slices.Sorted(maps.Keys(alike)) {
		if !used[name] {
			t.Errorf("--%s means the same everywhere in the same words: it need not be named here", name)
		}
	}
}
