package tune

import (
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
)

// advice says in sentences which policy to take, and which is the worst.
func (r *ranking) advice() (sentences []string) {
	best, last := r.results[0], len(r.results)-1
	take := fmt.Sprintf("Take %s: %s", best.full(), r.because(1))
	if r.equal > 1 {
		var alike []string
		for _, one := range r.results[:r.equal] {
			alike = append(alike, one.full())
		}
		take = "There is no difference between " + listed(alike) + " beyond what the slices differ among themselves: take whichever you like"
		if r.equal <= last {
			take += ", and none of the others; " + best.Name + " has " + r.because(r.equal)
		}
	}
	sentences = append(sentences, take+".")
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
	say := func(to *[]string, m metric, good, bad *measure.Part) {
		if text := m.better(good, bad, m.of(bad, r.floor)/m.of(good, r.floor)); text != "" {
			*to = append(*to, text)
		}
	}
	a, b := &r.results[0].all, &r.results[bad].all
	for i, m := range metrics {
		switch {
		case r.differ(0, bad, i):
			say(&gains, m, a, b)
		case r.differ(bad, 0, i):
			say(&losses, m, b, a)
		}
	}
	text := "it is a little better in everything together"
	if len(gains) > 0 {
		text = listed(gains)
	}
	text += " than " + r.results[bad].Name
	if len(losses) > 0 {
		text += " (which has " + listed(losses) + ")"
	}
	return text
}

func shorterWaits(good, bad *measure.Part, ratio float64) string {
	if _, bound := good.Waits.Quantile(.99); bound {
		return "" // nobody knows how long it is
	}
	atLeast := ""
	if _, bound := bad.Waits.Quantile(.99); bound {
		atLeast = "at least "
	}
	return "a p99 of the wait that is " + atLeast + times(ratio) + " shorter"
}

// inVain is the share of those who gave up, of a hundred.
func inVain(s *measure.Part) float64 {
	return 100 * float64(s.Refused) / float64(max(s.Refused+s.Total(), 1))
}

// times writes a ratio.
func times(ratio float64) string {
	if ratio >= 10 {
		return fmt.Sprintf("%.0f times", ratio)
	}
	return fmt.Sprintf("%.1f times", ratio)
}
