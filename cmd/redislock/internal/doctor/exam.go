package doctor

import (
	"context"
	"fmt"
	"strconv"
)

// An exam is one check of one server. If a question gets no answer, that is what the check has found in the end, whatever it makes
// of the rest.
type exam struct {
	*node
	p      *patient
	known  string   // what was found before the next question
	unseen *Finding // of the first question that got no answer
}

// each makes a check of what is looked at on each of some servers that answer; those that do not are reported by the check server.
func each(some func(*patient) []*node, look func(context.Context, *exam) Finding) func(context.Context, *patient) []Finding {
	return func(ctx context.Context, p *patient) (found []Finding) {
		for _, n := range some(p) {
			found = append(found, p.look(ctx, n, look))
		}
		return found
	}
}

// look makes one check of one server.
func (p *patient) look(ctx context.Context, n *node, look func(context.Context, *exam) Finding) Finding {
	e := &exam{node: n, p: p}
	found := look(ctx, e)
	if e.unseen != nil {
		found = *e.unseen
	}
	return found.on(n)
}

// The rights to ask for settings.
const (
	byConfig = "+config|get"
	byInfo   = "+info"
	byEither = byConfig + " or " + byInfo
)

// answered reports whether all questions were answered so far. If this one was not, it needs the right of the rule.
func (e *exam) answered(err error, rule string) bool {
	if err != nil && e.unseen == nil {
		f := notSeen(err, rule)
		if e.known != "" {
			f.Found = e.known + " " + f.Found
		}
		e.unseen = &f
	}
	return e.unseen == nil
}

// setting is one by the name of CONFIG GET, for which a user needs the right of the rule.
func (e *exam) setting(name, rule string) string {
	value, err := e.node.setting(name)
	e.answered(err, rule)
	return value
}

// number is a setting that is a number.
func (e *exam) number(name, rule string) int64 {
	text, err := e.node.setting(name)
	if !e.answered(err, rule) {
		return 0
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		e.answered(oddity(fmt.Sprintf("the setting %s is %q, which is no number", name, text)), rule)
	}
	return value
}
