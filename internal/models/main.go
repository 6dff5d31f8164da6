// Models shows that the protocol against late requests holds, by trying everything: it visits every state
// that small programs can reach on two keys when requests stay without an answer and are executed at any
// later moment, or never.
//
//	make models                     # all of them, in a minute or two
//	make models MODELS='^lines$'    # one of them
//	go run ./internal/models -run '^base$' -break unaskedentry -trace   # how a violation comes about
//	go run ./internal/models -more 1                             # one more unanswered try: long
//
// # What is modelled
//
// A server (server.go) has two keys, A and B, with their lines, in which waiters and guards stand, and
// executes the script of a request as a whole (script.go) or, in one model, in part. A process knows an
// owner for its token (owner.go): the number of its requests, and the list of those that are open. Two
// holds of the token (hold.go) are obtained, changed and freed by the calls (call.go) of one or two
// callers, and cleaned up beside them. A call sends a request (sending.go) and takes in the answer, or that
// there is none (answer.go). Time does not pass, but in one model: a lease is a number that a request makes
// greater or smaller.
//
// In each state (check.go)
//   - every hold has, in Redis, at least the modes and leases that it counts on. A Release, a Refresh or a
//     conversion of another hold of the token takes away what it is for from the moment at which it is
//     sent, but not from a hold whose Obtain was sent after the call had begun;
//   - nobody of the token holds a key that was left, before its time is over;
//   - a key that no hold counts among its own, and no clean-up is about, is free;
//   - no waiter stands in line after its call has ended;
//   - as long as every request is answered, and one is sent at a time, there is no guard;
//   - no call is overtaken for ever, and numbers do not run away.
//
// A breach (breach.go) leaves one rule out. A model in which it goes unnoticed says nothing about that rule,
// so that is a failure as well.
//
// # What is not
//
// What a score looks like, and its limits in bits and years; how lines and guards share a TTL; memory and
// rights that are missing; slots that move, proxies, clients that resend by themselves; batches; fencing
// numbers; intents; how a short cut finds out that there is nothing to be asked. A request is executed once
// at most: one that is executed twice is two tries of which the first stays without an answer.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
)

// groups returns all models.
func groups() []group {
	return []group{base(), numbers(), moving(), together(), expiry(), mixed(), lines(), leaving(), apart(), servers(), partly()}
}

func main() {
	pattern := flag.String("run", "", "only the models whose names match this expression")
	only := flag.String("break", "", "only without the rule of this name; nothing: only with all")
	more := flag.Int("more", 0, "how many more tries may stay without an answer")
	traces := flag.Bool("trace", false, "show the shortest way to each kind of violation")
	flag.Parse()
	wanted, err := regexp.Compile(*pattern)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	failed := false
	for _, g := range groups() {
		if !wanted.MatchString(g.name) {
			continue
		}
		for i := range g.models {
			g.models[i].faults += int8(*more)
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
