package check

// Checkers returns a checker of each promise, but for Clean: what is left in the servers stands in no history.
func Checkers() []Checker {
	return []Checker{
		{Exclusion, "windows", checkExclusion},
		{Fencing, "numbers", checkFencing},
		{Order, "pairs of a waiter and one that came later", checkOrder},
		{Handover, "releases while somebody stood in line", checkHandover},
		{Prompt, "waiters whose way became free", checkPrompt},
		{Losses, "watched locks", checkLosses},
		{Linear, "operations in one order", checkLinear},
		{Progress, "operations after the last fault", checkProgress},
		{Answers, "answers", checkAnswers},
	}
}
