package explore

import (
	"fmt"
	"slices"
)

// A Rule is one thing that the library does. A model in which nobody notices that it is left out says nothing about it.
type Rule struct {
	Name string // one word: what `-break` takes
	Text string // what is left out: "a renewal does not look whose key it is"
}

// A Table is the rules of a package, each at the index of the constant that stands for it in the models. Nothing is at index 0:
// that constant says that no rule is left out.
type Table[R ~int8] []Rule

// Of returns the rules that some constants stand for: what Group.Rules takes.
func (t Table[R]) Of(some ...R) []Rule {
	rules := make([]Rule, len(some))
	for i, r := range some {
		rules[i] = t[r]
	}
	return rules
}

// Named returns the constant that stands for the rule of a name, and 0 for the empty name. It panics if no rule has the name.
func (t Table[R]) Named(name string) R {
	i := slices.IndexFunc(t, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("explore: no rule is named %q", name))
	}
	return R(i)
}
