package demo

import "strings"

// A verdict gathers what an act has found out.
type verdict struct {
	facts  []string // that were as promised
	faults []string // that were not
}

// check enters a fact if it holds, otherwise what is the case instead.
func (v *verdict) check(holds bool, fact, fault string) {
	if holds {
		v.facts = append(v.facts, fact)
	} else {
		v.faults = append(v.faults, fault)
	}
}

// ok reports whether everything that was checked is as promised, and something was.
func (v *verdict) ok() bool { return len(v.faults) == 0 && len(v.facts) > 0 }

// found are the faults, or the facts if there are none.
func (v *verdict) found() []string {
	if len(v.faults) > 0 {
		return v.faults
	}
	return v.facts
}

func (v *verdict) String() string { return strings.Join(v.found(), ", ") }
