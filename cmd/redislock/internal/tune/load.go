package tune

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
)

const (
	mostWorkers   = 10_000
	mostKeys      = 1_000
	mostOf        = 10_000
	mostProcesses = 64
	mostHold      = time.Hour
)

// checkLoad says what is wrong with the load.
func (t *tune) checkLoad() error {
	for _, n := range []struct {
		flag        string
		value, most int
	}{
		{"workers", t.load.Workers, mostWorkers},
		{"keys", t.load.Keys, mostKeys},
		{"of", t.of, mostOf},
		{"processes", t.processes, mostProcesses},
	} {
		if n.value < 1 || n.value > n.most {
			return cli.Usagef("--%s %d is not from 1 to %d", n.flag, n.value, n.most)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"think", t.load.Think}, {"wait", t.wait}} {
		if d.value < 0 || d.value > mostHold {
			return cli.Usagef("--%s %s is not from 0 to %s", d.flag, d.value, mostHold)
		}
	}
	switch {
	case t.load.Keys > t.of:
		return cli.Usagef("--keys %d is more than there are: --of %d", t.load.Keys, t.of)
	case t.processes > t.load.Workers:
		return cli.Usagef("--processes %d is more than --workers %d: each process needs a worker", t.processes, t.load.Workers)
	case !(t.load.Readers >= 0 && t.load.Readers <= 1): // not a number, either
		return cli.Usagef("--readers %v is not a share from 0 to 1", t.load.Readers)
	}
	return nil
}

// checkHold says why a hold time is none.
func checkHold(d time.Duration) error {
	if d <= 0 || d > mostHold {
		return fmt.Errorf("a hold time of %s is not more than 0, or more than %s", d, mostHold)
	}
	return nil
}

// readHolds reads the hold times of a file, one in a line; what follows a '#' is a comment.
func readHolds(name string) (holds []time.Duration, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, cli.Usagef("--holds: %v", err)
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		word, _, _ := strings.Cut(line, "#")
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		d, err := time.ParseDuration(word)
		if err != nil {
			err = fmt.Errorf("%s is no duration such as 20ms", cli.Text(word[:min(len(word), 40)]))
		} else {
			err = checkHold(d)
		}
		if err != nil {
			return nil, cli.Usagef("--holds %s: line %d: %v", cli.Text(name), number, err)
		}
		holds = append(holds, d)
	}
	if len(holds) == 0 {
		return nil, cli.Usagef("--holds %s: it has no hold times", cli.Text(name))
	}
	return holds, nil
}

// rotation is about how long it takes until each worker has had a turn, if nobody wastes any time. About half of the
// locks that could be held at once are: the keys of a lock are drawn at random.
func rotation(l *measure.Load, of int) time.Duration {
	atOnce := math.Max(1, float64(of)/float64(2*l.Keys))
	atOnce = math.Min(atOnce, float64(l.Workers))
	turns := float64(l.Workers) / atOnce
	return time.Duration(math.Min(turns*float64(l.Mean())+float64(l.Think), float64(24*time.Hour)))
}

// A plan says for how long each policy plays, and how often.
type plan struct {
	Rounds int           // slices of each policy
	Slice  time.Duration // how long one lasts
}

const (
	leastRounds = 5
	usualRounds = 10
	mostRounds  = 40
	leastSlice  = 50 * time.Millisecond
	usualTime   = 10 * time.Second // how long all takes at least if nothing is said
	mostTime    = 24 * time.Hour
)

// planFor divides the time among so many policies, with slices in which every worker can have a turn. With total 0 it takes as
// long as it has to.
func planFor(total time.Duration, policies int, turn time.Duration) (plan, error) {
	least, usual := max(leastSlice, turn*3/2), max(2*leastSlice, turn*3)
	all := time.Duration(policies)
	if total == 0 {
		total = max(usualTime, all*usualRounds*usual)
	}
	switch {
	case total < 0 || total > mostTime:
		return plan{}, cli.Usagef("--for %s is not from 0 to %s", total, mostTime)
	case total < all*leastRounds*least:
		return plan{}, cli.Usagef("--for %s is too short: %d policies need %s, each of them %d slices of %s, in which every worker can have a turn",
			total, policies, cli.Duration(all*leastRounds*least+time.Millisecond), leastRounds, cli.Duration(least))
	}
	rounds := max(leastRounds, min(int(total/usual)/policies, mostRounds))
	return plan{Rounds: rounds, Slice: total / (all * time.Duration(rounds))}, nil
}

// total is how long all slices take.
func (p plan) total(policies int) time.Duration {
	return time.Duration(p.Rounds*policies) * p.Slice
}

// namesOf makes the names of n keys from a pattern with one %d.
func namesOf(pattern string, n int) ([]string, error) {
	before, after, found := strings.Cut(pattern, "%d")
	if !found || strings.Contains(before+after, "%") {
		return nil, cli.Usagef("--pattern %s needs one %%d in the place of a number, and no other %%", cli.Text(pattern))
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d%s", before, i+1, after)
	}
	return names, nil
}
