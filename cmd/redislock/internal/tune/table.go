package tune

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
)

const rowFormat = "%-12s %7s %8s %8s %8s %8s %8s %5s %7s %6s"

// table shows the results, the best first.
func (r *ranking) table(silent string) []string {
	lines := []string{fmt.Sprintf(rowFormat, "POLICY", "LOCKS/S", "WAIT P50", "P99", "MAX", "COMMANDS", "CPU EACH", "FAIR", "GAVE UP", "SCORE")}
	for _, one := range r.results {
		s, cpu := &one.all, "-"
		if silent == "" {
			cpu = cli.Duration(s.CPUEach())
		}
		lines = append(lines, fmt.Sprintf(rowFormat, one.Name, number(s.PerSecond()), bounded(s.Waits.Quantile(.5)), bounded(s.Waits.Quantile(.99)),
			bounded(s.Waits.Most, s.Waits.MostCut), number(s.CommandsEach()), cpu, fmt.Sprintf("%.2f", s.Fairness()),
			fmt.Sprint(s.Refused), fmt.Sprintf("%.2f", one.score)))
	}
	return lines
}

// bounded writes a duration, or that it is longer than that.
func bounded(d time.Duration, bound bool) string {
	if bound {
		return ">" + cli.Duration(d)
	}
	return cli.Duration(d)
}

// number writes three digits, and whole numbers as they are.
func number(v float64) string {
	switch {
	case v >= 99.95 || v == 0:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// legend says what the columns are.
func legend(silent string) []string {
	lines := []string{
		"WAIT is that of every Obtain; >: it was cut short by the end of its slice. COMMANDS are those",
		"that the load has sent for each lock, Release included. CPU EACH is what the server has used, for",
		"others too. FAIR is Jain's index: 1 if all workers had as many locks, 1/workers if one had them all.",
		"SCORE is how many times as bad as the best: the geometric mean of the time, the waiting, the",
		"commands and the attempts for each lock, and of unfairness.",
	}
	if silent != "" {
		lines = append(lines, "CPU EACH is not known: "+silent+".")
	}
	return lines
}

// barWidth is that of the longest bar, in characters.
const barWidth = 48

// A chart has a bar for each policy, as long as its value is great.
type chart struct {
	title string
	value func(s *measure.Part) (v float64, text string)
}

// charts are what is drawn with bars. The last one is of what the server may not tell.
var charts = []chart{
	{"locks a second", func(s *measure.Part) (float64, string) { return s.PerSecond(), number(s.PerSecond()) }},
	{"p99 of the wait", func(s *measure.Part) (float64, string) {
		p99, bound := s.Waits.Quantile(.99)
		return float64(p99), bounded(p99, bound)
	}},
	{"commands for each lock", func(s *measure.Part) (float64, string) { return s.CommandsEach(), number(s.CommandsEach()) }},
	{"CPU of the server for each lock", func(s *measure.Part) (float64, string) { return float64(s.CPUEach()), cli.Duration(s.CPUEach()) }},
}

// bars draws a chart, in the order of the ranking. What is not zero is seen.
func (r *ranking) bars(c chart, block string) []string {
	most, lines := 0., []string{c.title}
	for i := range r.results {
		v, _ := c.value(&r.results[i].all)
		most = max(most, v)
	}
	for i := range r.results {
		v, text := c.value(&r.results[i].all)
		cells := 0
		if v > 0 {
			cells = max(1, int(math.Round(v/most*barWidth)))
		}
		lines = append(lines, fmt.Sprintf("  %-*s %s %s", mostName, r.results[i].Name, strings.Repeat(block, cells), text))
	}
	return lines
}

// A row is a result as JSON has it.
type row struct {
	Policy       string   `json:"policy"`
	Spec         string   `json:"spec"`
	Rank         int      `json:"rank"`
	Verdict      string   `json:"verdict"` // take; equal, if several are; worst; or empty
	Score        float64  `json:"score"`
	Acquired     int      `json:"acquired"`
	PerSecond    float64  `json:"per_second"`
	WaitP50ms    float64  `json:"wait_p50_ms"`
	WaitP99ms    float64  `json:"wait_p99_ms"`
	WaitP99Bound bool     `json:"wait_p99_is_least"` // it is that at least
	WaitMaxms    float64  `json:"wait_max_ms"`
	CommandsEach float64  `json:"commands_each"`
	ServerCPUus  *float64 `json:"server_cpu_us"` // for each lock; null: not known
	Fairness     float64  `json:"fairness"`
	GaveUp       int      `json:"gave_up"`
	Slices       int      `json:"slices"`
	Seconds      float64  `json:"seconds"`
	Embedded     bool     `json:"embedded"`
	Busy         bool     `json:"busy"` // the machine was too busy to conclude
}

// rows are all results, the best first.
func (r *ranking) rows(silent string, embedded, busy bool) []row {
	var all []row
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	for rank, one := range r.results {
		s := &one.all
		p50, _ := s.Waits.Quantile(.5)
		p99, bound := s.Waits.Quantile(.99)
		a := row{
			Policy: one.Name, Spec: one.Spec, Rank: rank + 1, Verdict: r.verdict(rank), Score: one.score,
			Acquired: s.Total(), PerSecond: s.PerSecond(), WaitP50ms: ms(p50), WaitP99ms: ms(p99), WaitP99Bound: bound,
			WaitMaxms: ms(s.Waits.Most), CommandsEach: s.CommandsEach(), Fairness: s.Fairness(), GaveUp: s.Refused,
			Slices: len(one.slices), Seconds: s.Length.Seconds(), Embedded: embedded, Busy: busy,
		}
		if silent == "" {
			a.ServerCPUus = new(float64(s.CPUEach()) / float64(time.Microsecond))
		}
		all = append(all, a)
	}
	return all
}

// verdict is one word for the policy of a rank.
func (r *ranking) verdict(rank int) string {
	switch {
	case rank == 0 && r.equal == 1:
		return "take"
	case rank < r.equal:
		return "equal"
	case r.worst && rank == len(r.results)-1:
		return "worst"
	}
	return ""
}
