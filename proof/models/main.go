// Models tries everything: it visits every state that small models of the protocol can reach, and says what is wrong with
// them. Each package below it is one subject, and its comment says what is modelled, what is not, and what that proves.
//
//	make models                     # all of them, in a few minutes
//	make models MODELS='^lines$'    # one group of them
//	go run ./proof/models -run '^base$' -break unaskedentry -trace   # how a violation comes about
//	go run ./proof/models -more 1                             # one more unanswered try in packages late and local: long
//	go run ./proof/models -list                               # a table of the groups and their rules
//
// A model in which a rule can be left out without a violation says nothing about that rule, so that is a failure as well.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"

	"github.com/seed-14de3678/redislock/proof/models/explore"
	"github.com/seed-14de3678/redislock/proof/models/late"
	"github.com/seed-14de3678/redislock/proof/models/lease"
	"github.com/seed-14de3678/redislock/proof/models/line"
	"github.com/seed-14de3678/redislock/proof/models/local"
	"github.com/seed-14de3678/redislock/proof/models/modes"
	"github.com/seed-14de3678/redislock/proof/models/outlive"
	"github.com/seed-14de3678/redislock/proof/models/passing"
	"github.com/seed-14de3678/redislock/proof/models/redlock"
	"github.com/seed-14de3678/redislock/proof/models/renewal"
)

// groups returns all models. In those of packages late and local so many more tries may stay without an answer; those of package
// passing go on for so many more ticks.
func groups(more int) []explore.Group {
	return slices.Concat(
		late.GroupsWith(more),
		lease.Groups(),
		line.Groups(),
		local.GroupsWith(more),
		passing.GroupsWith(more),
		modes.Groups(),
		renewal.Groups(),
		outlive.Groups(),
		redlock.Groups(),
	)
}

func main() {
	pattern := flag.String("run", "", "only the models whose names match this expression")
	only := flag.String("break", "", "only without the rule of this name; nothing: only with all")
	more := flag.Int("more", 0, "how many more tries may stay without an answer, in the models of late requests and of local lines, and ticks of passing on")
	traces := flag.Bool("trace", false, "show the shortest way to each kind of violation")
	list := flag.Bool("list", false, "only list the groups and their rules")
	flag.Parse()
	debug.SetGCPercent(300) // most of the memory is what is known until the end
	wanted, err := regexp.Compile(*pattern)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	failed := false
	for _, g := range groups(*more) {
		if !wanted.MatchString(g.Name) {
			continue
		}
		if *list {
			describe(g)
			continue
		}
		r := report{group: g, traces: *traces}
		r.make(*only)
		fmt.Print(r.text.String())
		failed = failed || r.failed
	}
	if failed {
		os.Exit(1)
	}
}

// describe says what a group is about.
func describe(g explore.Group) {
	fmt.Printf("%s: %s (%s)\n", g.Name, g.Proves, g.Page)
	for _, rule := range g.Rules {
		fmt.Printf("  without %s: %s\n", rule.Name, rule.Text)
	}
}
