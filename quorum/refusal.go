package quorum

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// A refusal says why there was no majority. It wraps those errors of the nodes that state the same
// fact.
type refusal struct {
	text  string
	is    []error
	nodes []*NodeError  // of every node that has not done it
	bad   bool          // the request is wrong, whichever node is asked
	again bool          // another attempt may go better
	free  time.Duration // until then others have too many nodes for a majority; negative: nobody knows
}

func (e *refusal) Error() string { return e.text }

func (e *refusal) Unwrap() []error { return e.is }

// As finds the error of the first node, and all of them. Unwrap does not return them, because one node does not know
// what has become of the lock.
func (e *refusal) As(target any) bool {
	if len(e.nodes) == 0 {
		return false
	}
	switch target := target.(type) {
	case **NodeError:
		*target = e.nodes[0]
	case *everyNode:
		*target = e.nodes
	default:
		return false
	}
	return true
}

// refused reports why a round of requests for a lock has no majority; nil if it has.
func (r *round) refused() *refusal {
	if r.yes >= r.need {
		return nil
	}
	e := &refusal{nodes: r.nodes(), free: pace.Stop}
	if bad := r.argument(); bad != nil {
		e.text, e.is, e.bad = bad.Error(), []error{bad}, true
		return e
	}
	var sentinel error
	switch unclear := r.count(open, unknown); {
	case r.yes+unclear >= r.need:
		sentinel = redislock.ErrUnknownOutcome
		e.is = append([]error{sentinel}, r.errs(unknown)...)
	case r.count(no) > 0:
		sentinel = redislock.ErrNotObtained
		e.is = append([]error{sentinel}, r.conflict()...)
		e.free = r.free()
	default:
		e.is = r.errs(failed)
	}
	e.text = r.tally()
	if sentinel != nil {
		e.text = sentinel.Error() + ": " + e.text
	}
	for i := range r.answers {
		e.again = e.again || r.answers[i].again || r.answers[i].kind == open
	}
	return e
}

// arguments are the errors that say that the request is wrong, whichever node is asked.
var arguments = []error{
	redislock.ErrInvalid, redislock.ErrCrossSlot, errors.ErrUnsupported,
}

// argument returns the error of the first node that refuses the request as such, if no other node
// has found it in order.
func (r *round) argument() error {
	if r.count(yes, no, unknown) > 0 {
		return nil
	}
	for _, err := range r.errs(failed) {
		if isArgument(err) {
			return err
		}
	}
	return nil
}

// lasts reports whether a node would go on refusing the request for as long as the lock is held.
func lasts(err error) bool { return isArgument(err) || errors.Is(err, redis.ErrClosed) }

func isArgument(err error) bool {
	return slices.ContainsFunc(arguments, func(bad error) bool { return errors.Is(err, bad) })
}

// errs returns what the nodes with such an answer say.
func (r *round) errs(k kind) []error {
	var errs []error
	for i := range r.answers {
		if r.answers[i].kind == k {
			errs = append(errs, r.answers[i].err)
		}
	}
	return errs
}

// conflict returns the first conflict, or else why the first node has refused. It returns nothing if the nodes that say
// no had granted the lock, and lost it before it had its number: it was never returned, so it is not lost.
func (r *round) conflict() []error {
	errs := slices.DeleteFunc(r.errs(no), func(err error) bool { return !errors.Is(err, redislock.ErrNotObtained) })
	for _, err := range errs {
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); ok {
			return []error{conflict}
		}
	}
	return errs[:min(1, len(errs))]
}

// free returns how long it takes until enough conflicts are over for a majority.
func (r *round) free() time.Duration {
	var ttls []time.Duration
	for _, err := range r.errs(no) {
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); ok && conflict.TTL >= 0 {
			ttls = append(ttls, conflict.TTL)
		}
	}
	slices.Sort(ttls)
	// The nodes that have not answered might have granted it.
	missing := max(1, r.need-r.yes-r.count(open, unknown))
	if missing > len(ttls) {
		return pace.Stop
	}
	return ttls[missing-1]
}

// tally says how many nodes have said yes, and what the others say.
func (r *round) tally() string {
	var b strings.Builder
	b.WriteString(share(r.yes, len(r.answers), r.need))
	for _, e := range r.nodes() {
		b.WriteString("; " + e.Error())
	}
	return b.String()
}

// share says how many of the nodes there are.
func share(yes, all, need int) string {
	are := "are"
	if need == 1 {
		are = "is"
	}
	return fmt.Sprintf("%d of %s, %d %s needed", yes, count.Of(all, "node"), need, are)
}
