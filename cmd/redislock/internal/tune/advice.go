package tune

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// advice says in sentences which policy to take, and which is the worst.
func advice(results []result, r ranking, floor time.Duration) (sentences []string) {
	best := r.order[0]
	name := func(i int) string { return results[i].full() }
	if r.equal == 1 {
		sentences = append(sentences, fmt.Sprintf("Take %s: %s.", name(best), because(results, r, best, r.order[1], floor)))
	} else {
		var alike []string
		for _, i := range r.order[:r.equal] {
			alike = append(alike, name(i))
		}
		text := "There is no difference between " + listed(alike) + " beyond what the slices differ among themselves: take whichever you like"
		if r.equal < len(r.order) {
			text += ", and none of the others; " + results[best].Name + " has " + because(results, r, best, r.order[r.equal], floor)
		}
		sentences = append(sentences, text+".")
	}
	if r.worst >= 0 {
		sentences = append(sentences, fmt.Sprintf("The worst is %s: %s has %s.", name(r.worst), results[best].Name, because(results, r, best, r.worst, floor)))
	} else if r.equal < len(r.order) {
		sentences = append(sentences, "Which one is the worst is not certain.")
	}
	return sentences
}

// full is the name of a policy, with what it is if the name does not say that.
func (p policy) full() string {
	if p.Name == p.Spec {
		return p.Name
	}
	return p.Name + " (" + p.Spec + ")"
}

// listed joins names.
func listed(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// because says in which of the metrics one policy is better than another one, and in which it is not.
func because(results []result, r ranking, good, bad int, floor time.Duration) string {
	var gains, losses []string
	a, b := &results[good].all, &results[bad].all
	for i, m := range metrics {
		switch {
		case r.differ(good, bad, i):
			gains = append(gains, m.better(a, b, floor))
		case r.differ(bad, good, i):
			losses = append(losses, m.better(b, a, floor))
		}
	}
	text := "it is a little better in everything together"
	nothing := func(text string) bool { return text == "" }
	if gains = slices.DeleteFunc(gains, nothing); len(gains) > 0 {
		text = listed(gains)
	}
	text += " than " + results[bad].Name
	if losses = slices.DeleteFunc(losses, nothing); len(losses) > 0 {
		text += " (which has " + listed(losses) + ")"
	}
	return text
}

func moreLocks(good, bad *part, _ time.Duration) string {
	return times(bad.each(bad.Length.Seconds())/good.each(good.Length.Seconds())) + " as many acquisitions"
}

func lessWaiting(good, bad *part, floor time.Duration) string {
	return times(float64(waited(bad, floor))/float64(waited(good, floor))) + " less waiting for each lock"
}

func shorterWaits(good, bad *part, floor time.Duration) string {
	if _, bound := good.Waits.Quantile(.99); bound {
		return "" // nobody knows how long it is
	}
	ratio := float64(long(bad, floor)) / float64(long(good, floor))
	atLeast := ""
	if _, bound := bad.Waits.Quantile(.99); bound {
		atLeast = "at least "
	}
	return "a p99 of the wait that is " + atLeast + times(ratio) + " shorter"
}

func fewerCommands(good, bad *part, _ time.Duration) string {
	return fmt.Sprintf("%.1f commands fewer for each acquisition", bad.commandsEach()-good.commandsEach())
}

func fairer(good, bad *part, _ time.Duration) string {
	return fmt.Sprintf("a fairness of %.2f instead of %.2f", fairness(good), fairness(bad))
}

func fewerInVain(good, bad *part, _ time.Duration) string {
	return fmt.Sprintf("%s of its attempts in vain instead of %s", inVain(good), inVain(bad))
}

// inVain is the share of those who gave up.
func inVain(s *part) string {
	return fmt.Sprintf("%.0f %%", 100*float64(s.GaveUp)/float64(max(s.GaveUp+s.acquired(), 1)))
}

// times writes a ratio.
func times(ratio float64) string {
	if ratio >= 10 {
		return fmt.Sprintf("%.0f times", ratio)
	}
	return fmt.Sprintf("%.1f times", ratio)
}
