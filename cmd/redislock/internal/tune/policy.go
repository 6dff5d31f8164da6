package tune

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// policyHelp is the language in which policies are written.
const policyHelp = `A policy is written as [name=]policy, and is one of

  queue                       stands in line (Options.Queue)
  linear:25ms                 asks again every 25 ms
  exponential:5ms..500ms      asks again after 5 ms, then after twice as long
                              each time, up to 500 ms, at random about that
  limited:POLICY:50           one of these two, which gives up after 50
                              more attempts

A policy that polls may end with +intent: a writer that waits keeps new readers
away (Options.Intent).`

// A policy is one way to wait.
type policy struct {
	Name string // one of few letters, for tables and pictures
	Spec string // as it is written
	// Options are what the library is given.
	Options redislock.Options
}

const (
	mostName     = 12 // letters: there is room for so many in a table and in a picture
	mostInterval = 24 * time.Hour
	mostRetries  = 1_000_000
)

// parsePolicy reads what a user has written. The name may be empty.
func parsePolicy(text string) (policy, error) {
	name, spec, named := strings.Cut(text, "=")
	if !named {
		name, spec = "", text
	}
	p := policy{Name: name, Spec: spec}
	err := checkName(name, named)
	if err == nil {
		p.Options, err = parseOptions(spec)
	}
	if err != nil {
		return policy{}, fmt.Errorf("policy %s: %w", cli.Text(text), err)
	}
	return p, nil
}

var aName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*$`)

// checkName reports why a name is none.
func checkName(name string, named bool) error {
	switch {
	case named && name == "":
		return errors.New("its name is empty")
	case len(name) > mostName:
		return fmt.Errorf("its name has %d letters, and there is room for %d", len(name), mostName)
	case named && !aName.MatchString(name):
		return errors.New("its name has other characters than letters, digits and '-', or does not begin with a letter")
	}
	return nil
}

// parseOptions reads a policy without its name.
func parseOptions(spec string) (redislock.Options, error) {
	spec, intent := strings.CutSuffix(spec, "+intent")
	if spec == "queue" {
		if intent {
			return redislock.Options{}, errors.New("the line keeps readers away by itself: queue has no +intent")
		}
		return redislock.Options{Queue: true}, nil
	}
	strategy, err := parseStrategy(spec)
	return redislock.Options{RetryStrategy: strategy, Intent: intent}, err
}

// parseStrategy reads a policy that polls.
func parseStrategy(spec string) (redislock.RetryStrategy, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	switch kind {
	case "linear":
		interval, err := parseInterval(rest)
		return redislock.LinearBackoff(interval), err
	case "exponential":
		return parseExponential(rest)
	case "limited":
		return parseLimited(rest)
	case "queue":
		return nil, errors.New("queue has no parameters, and no limit")
	}
	return nil, fmt.Errorf("there is no policy %s; there are queue, linear:25ms, exponential:5ms..500ms and limited:linear:10ms:50", cli.Text(kind))
}

func parseExponential(spec string) (redislock.RetryStrategy, error) {
	from, to, found := strings.Cut(spec, "..")
	if !found {
		return nil, errors.New("exponential has the shortest and the longest wait, such as exponential:5ms..500ms")
	}
	least, err := parseInterval(from)
	if err != nil {
		return nil, err
	}
	most, err := parseInterval(to)
	if err != nil {
		return nil, err
	}
	if most < least {
		return nil, fmt.Errorf("the longest wait, %s, is shorter than the shortest, %s", most, least)
	}
	return redislock.ExponentialBackoff(least, most), nil
}

func parseLimited(spec string) (redislock.RetryStrategy, error) {
	end := strings.LastIndexByte(spec, ':')
	if end < 0 {
		return nil, errors.New("limited has a policy and a number of attempts, such as limited:linear:10ms:50")
	}
	inner, number := spec[:end], spec[end+1:]
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > mostRetries {
		return nil, fmt.Errorf("%s is no number of attempts from 1 to %d", cli.Text(number), mostRetries)
	}
	if strings.HasPrefix(inner, "limited") {
		return nil, errors.New("limited has one limit alone")
	}
	strategy, err := parseStrategy(inner)
	if err != nil {
		return nil, err
	}
	return redislock.LimitRetry(strategy, n), nil
}

// parseInterval reads a wait. One below a millisecond would be a millisecond.
func parseInterval(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s is no duration such as 25ms or 1.5s", cli.Text(text))
	}
	if d < time.Millisecond || d > mostInterval {
		return 0, fmt.Errorf("a wait of %s is not from 1ms to %s", d, mostInterval)
	}
	return d, nil
}

// standard are the policies that are compared in any case. They suit a hold time as docs/waiting.md says.
func standard(hold time.Duration) []policy {
	ms := func(d time.Duration) string { return max(d.Round(time.Millisecond), time.Millisecond).String() }
	waits := "exponential:" + ms(hold/4) + ".." + ms(10*hold)
	var all []policy
	for _, spec := range []string{"linear:" + ms(hold/2), waits, "limited:" + waits + ":20", "queue"} {
		p, err := parsePolicy(spec)
		if err != nil {
			panic(err) // a hold time has bounds that keep this away
		}
		all = append(all, p)
	}
	return all
}

// named gives each policy a name of its own.
func named(policies []policy) ([]policy, error) {
	taken := map[string]bool{}
	for _, p := range policies {
		name := strings.ToLower(p.Name) // in a picture, capitals make no difference
		if name != "" && taken[name] {
			return nil, cli.Usagef("two policies have the name %q", p.Name)
		}
		taken[name] = true
	}
	all := slices.Clone(policies)
	for i := range all {
		for p, n := &all[i], 1; p.Name == ""; n++ {
			name, _, _ := strings.Cut(strings.TrimSuffix(p.Spec, "+intent"), ":")
			if n > 1 {
				name = fmt.Sprintf("%s-%d", name[:min(len(name), mostName-3)], n)
			}
			if !taken[name] {
				p.Name, taken[name] = name, true
			}
		}
	}
	return all, nil
}
