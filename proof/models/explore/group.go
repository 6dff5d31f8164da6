package explore

// A Program is a Model of any kind of states.
type Program interface {
	Title() string
	Search(limit Limit) Tally
}

// A Group is the models of one subject.
type Group struct {
	Name   string // one word: what `-run` takes
	Proves string // one sentence
	Page   string // the prose that it stands beside: "docs/waiting.md#standing-in-line"
	// Programs are the models without one rule, or with all of them if without is empty.
	Programs func(without string) []Program
	Rules    []Rule
}
