package tune

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// advice says in sentences which policy to take, and which is the worst.
func (r *ranking) advice() (sentences []string) {
	best, last := r.results[0], len(r.results)-1
	if r.equal == 1 {
		sentences = append(sentences, fmt.Sprintf("Take %s: %s.", best.full(), r.because(1)))
	} else {
		var alike []string
		for _, one := range r.results[:r.equal] {
			alike = append(alike, one.full())
		}
		text := "There is no difference between " + listed(alike) + " beyond what the slices differ among themselves: take whichever you like"
		if r.equal <= last {
			text += ", and none of the others; " + best.Name + " has " + r.because(r.equal)
		}
		sentences = append(sentences, text+".")
	}
	if r.worst {
		sentences = append(sentences, fmt.Sprintf("The worst is %s: %s has %s.", r.results[last].full(), best.Name, r.because(last)))
	} else if r.equal <= last {
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

// because says in which of the metrics the best policy is better than another one, and in which it is not.
func (r *ranking) because(bad int) string {
	var gains, losses []string
	a, b := &r.results[0].all, &r.results[bad].all
	for i, m := range metrics {
		switch {
		case r.differ(0, bad, i):
			gains = append(gains, m.better(a, b, r.floor))
		case r.differ(bad, 0, i):
			losses = append(losses, m.better(b, a, r.floor))
		}
	}
	text := "it is a little better in everything together"
	nothing := func(text string) bool { return text == "" }
	if gains = slices.DeleteFunc(gains, nothing); len(gains) > 0 {
		text = listed(gains)
	}
	text += " than " + r.results[bad].Name
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
