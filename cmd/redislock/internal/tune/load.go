package tune

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A load is what the user's program does with its locks.
type load struct {
	Holds     []time.Duration // how long a lock is held: one of these, at random
	Keys      int             // of each lock
	Of        int             // how many keys there are
	Workers   int             // in all processes together
	Readers   float64         // the share of locks that only read
	Think     time.Duration   // between two locks of a worker
	Wait      time.Duration   // how long an Obtain may wait; 0: as long as it likes
	Processes int
}

const (
	mostWorkers   = 10_000
	mostKeys      = 1_000
	mostOf        = 10_000
	mostProcesses = 64
	mostHold      = time.Hour
	mostHolds     = 1_000_000
)

// check says what is wrong with the load.
func (l *load) check() error {
	for _, n := range []struct {
		flag        string
		value, most int
	}{
		{"workers", l.Workers, mostWorkers},
		{"keys", l.Keys, mostKeys},
		{"of", l.Of, mostOf},
		{"processes", l.Processes, mostProcesses},
	} {
		if n.value < 1 || n.value > n.most {
			return cli.Usagef("--%s %d is not from 1 to %d", n.flag, n.value, n.most)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"think", l.Think}, {"wait", l.Wait}} {
		if d.value < 0 || d.value > mostHold {
			return cli.Usagef("--%s %s is not from 0 to %s", d.flag, d.value, mostHold)
		}
	}
	switch {
	case l.Keys > l.Of:
		return cli.Usagef("--keys %d is more than there are: --of %d", l.Keys, l.Of)
	case l.Processes > l.Workers:
		return cli.Usagef("--processes %d is more than --workers %d: each process needs a worker", l.Processes, l.Workers)
	case !(l.Readers >= 0 && l.Readers <= 1): // not a number, either
		return cli.Usagef("--readers %v is not a share from 0 to 1", l.Readers)
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
	file, err := os.Open(name)
	if err != nil {
		return nil, cli.Usagef("--holds: %v", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	holds, err = parseHolds(file)
	if err != nil {
		return nil, cli.Usagef("--holds %s: %v", cli.Text(name), err)
	}
	return holds, nil
}

func parseHolds(r io.Reader) (holds []time.Duration, err error) {
	lines := bufio.NewScanner(r)
	number := 0
	for lines.Scan() {
		number++
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s is no duration such as 20ms", number, shortened(text))
		}
		if err := checkHold(d); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if holds = append(holds, d); len(holds) > mostHolds {
			return nil, fmt.Errorf("line %d: there are more than %d hold times", number, mostHolds)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", number+1, err)
	}
	if len(holds) == 0 {
		return nil, errors.New("it has no hold times")
	}
	return holds, nil
}

// shortened is a text of a file as an error shows it.
func shortened(text string) string {
	if len(text) > 40 {
		text = text[:40] + "…"
	}
	return cli.Text(text)
}

// sampled returns at most n hold times that are spread as all of them are: every process is sent them.
func sampled(holds []time.Duration, n int) []time.Duration {
	if len(holds) <= n {
		return holds
	}
	sorted := slices.Sorted(slices.Values(holds))
	some := make([]time.Duration, n)
	for i := range some {
		some[i] = sorted[(2*i+1)*len(sorted)/(2*n)]
	}
	return some
}

// mean is the mean hold time.
func (l *load) mean() time.Duration {
	var sum float64
	for _, d := range l.Holds {
		sum += float64(d) / float64(len(l.Holds))
	}
	return time.Duration(sum)
}

// rotation is about how long it takes until each worker has had a turn, if nobody wastes any time. About half of the
// locks that could be held at once are: the keys of a lock are drawn at random.
func (l *load) rotation() time.Duration {
	atOnce := math.Max(1, float64(l.Of)/float64(2*l.Keys))
	atOnce = math.Min(atOnce, float64(l.Workers))
	turns := float64(l.Workers) / atOnce
	return time.Duration(math.Min(turns*float64(l.mean())+float64(l.Think), float64(24*time.Hour)))
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

// planFor divides the time among so many policies. With total 0 it takes as long as it has to.
func planFor(total time.Duration, policies int, l *load) (plan, error) {
	least, usual := max(leastSlice, l.rotation()*3/2), max(2*leastSlice, l.rotation()*3)
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

// lead is the beginning of a slice: all come at once then, which they do not do otherwise. What is sent and had in that
// time does not count.
func (p plan) lead() time.Duration { return p.Slice / 3 }

// total is how long all slices take.
func (p plan) total(policies int) time.Duration {
	return time.Duration(p.Rounds*policies) * p.Slice
}

// A draw makes the choices of one worker in one slice. They are the same for every policy.
type draw struct{ *rand.Rand }

func newDraw(round, worker int) draw {
	return draw{rand.New(rand.NewPCG(uint64(round), uint64(worker)))}
}

// keys draws so many different ones of all names.
func (d draw) keys(names []string, n int) []string {
	chosen := make([]string, 0, n)
	if n > len(names)/2 {
		for _, i := range d.Perm(len(names))[:n] {
			chosen = append(chosen, names[i])
		}
		return chosen
	}
	for len(chosen) < n {
		if name := names[d.IntN(len(names))]; !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen
}

// hold draws a hold time.
func (d draw) hold(l *load) time.Duration { return l.Holds[d.IntN(len(l.Holds))] }

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

// of is how many keys there are if nothing is said: for each key of a lock ten.
func defaultOf(given, keys int) int { return cmp.Or(given, min(10*keys, mostOf)) }
