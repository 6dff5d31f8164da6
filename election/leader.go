package election

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/inctx"
)

// TermID returns the id of the term for which the function of a leader runs, the same as [Term].ID.
func TermID(ctx context.Context) string { return inctx.Caller(ctx) }

// A Term says who leads, as [Leader] has found it. The zero Term says that nobody does.
type Term struct {
	// Led is true if somebody leads.
	Led bool
	// ID is the id of the term: no two terms have the same. It is the caller's id of the lock, see
	// [redislock.WithCaller]. It is empty if the holder is no [Candidate] and has no caller's id.
	ID string
	// Metadata is the Candidate's.
	Metadata string
	// Fence is the fencing number of the term, which is greater than the numbers of all terms before.
	Fence int64
	// Since is when the term has begun, by the clock of the server, as the fencing number tells it: most numbers are
	// the moment at which they were given, in µs. If that clock was set back since the last number was given, Since is
	// just after the moment of that number, so too late by up to as much as the clock was set back. If
	// [redislock.Lock.RaiseFence] has raised the number, Since is what it was raised to. Over several servers the
	// number is the greatest of theirs, and Since is by the clock that was ahead.
	Since time.Time
}

// String names the leader, for a log.
func (t Term) String() string {
	if !t.Led {
		return "nobody leads"
	}
	who := cmp.Or(t.Metadata, "somebody")
	return fmt.Sprintf("%s leads since %s (term %s, number %d)", who, t.Since.UTC().Format(time.RFC3339), cmp.Or(t.ID, "unknown"), t.Fence)
}

// isSame reports whether both are the same term, or none.
func (t Term) isSame(other Term) bool {
	return t.Led == other.Led && t.ID == other.ID && (t.ID != "" || t.Fence == other.Fence)
}

// Leader asks who leads. nodes is the Client of the server on which the election is. For an election over a quorum,
// nodes are the Clients of all of its nodes, in any order: then a majority of them has to say the same, and Leader
// returns as soon as that is certain.
//
// The answer is from when the server was asked, and may be out of date when it arrives: no follower can rely on it to
// be the only one who acts. A key that was left (see [redislock.Lock.Leave]), or is held by readers, has no leader. It
// is an error if the server, or too many nodes, cannot be asked, or if the key holds something else than a lock. If a
// candidate's Client has [redislock.WithReplicas] or [redislock.WithMinUptime], the candidate may hold the key and does
// not lead before it was elected. Leader names it from its first renewal on, which follows at once. Leader changes
// nothing, sends one request to each node, and waits until ctx ends.
func Leader(ctx context.Context, key string, nodes ...*redislock.Client) (Term, error) {
	if err := checkNodes(key, nodes); err != nil {
		return Term{}, fmt.Errorf("election: leader: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var under sync.WaitGroup
	defer under.Wait()
	defer cancel()
	sightings := make(chan sighting, len(nodes))
	for _, node := range nodes {
		under.Go(func() { sightings <- see(ctx, node, key) })
	}
	v := vote{open: len(nodes), need: len(nodes)/2 + 1}
	for v.open > 0 {
		v.take(<-sightings)
		if term, ok := v.decided(); ok {
			return term, nil
		}
	}
	return Term{}, fmt.Errorf("election: leader of %q: %w", key, v.why())
}

var (
	errNoNodes   = errors.New("there is no Client to ask")
	errUndecided = errors.New("too few servers have answered to tell who leads")
)

// checkNodes refuses nodes that cannot be asked.
func checkNodes(key string, nodes []*redislock.Client) error {
	if len(nodes) == 0 {
		return errNoNodes
	}
	if key == "" {
		return &redislock.InvalidError{Argument: "keys", Reason: "the key is empty"}
	}
	for i, node := range nodes {
		if node == nil {
			return fmt.Errorf("nodes[%d] is nil", i)
		}
		if first := slices.Index(nodes, node); first < i {
			return fmt.Errorf("nodes[%d] is nodes[%d] once more", i, first)
		}
	}
	return nil
}

// A sighting is the answer of one node.
type sighting struct {
	term Term
	err  error
}

func see(ctx context.Context, node *redislock.Client, key string) sighting {
	states, err := node.Inspect(ctx, []string{key})
	if err != nil {
		return sighting{err: err}
	}
	switch s := states[0]; {
	case s.Mode == redislock.ModeForeign:
		return sighting{err: errors.New(s.String())}
	case s.Mode != redislock.ModeWrite, len(s.Holders) == 0, s.Holders[0].Left,
		strings.HasSuffix(s.Holders[0].Caller, inctx.Pending): // a candidate with an Obtain that may still fail
		return sighting{}
	default:
		return sighting{term: Term{
			Led: true, ID: s.Holders[0].Caller, Metadata: s.Holders[0].Metadata,
			Fence: s.Fence, Since: since(s.Fence),
		}}
	}
}

// since is the moment that a fencing number stands for.
func since(fence int64) time.Time {
	if fence == 0 {
		return time.Time{}
	}
	return time.UnixMicro(fence)
}

// A vote collects the answers of several nodes.
type vote struct {
	seen []Term // the answers that name a leader
	errs []error
	open int // how many have yet to answer
	need int // how many are a majority
}

func (v *vote) take(s sighting) {
	v.open--
	switch {
	case s.err != nil:
		v.errs = append(v.errs, s.err)
	case s.term.Led:
		v.seen = append(v.seen, s.term)
	}
}

// decided returns what a majority says, if that is certain whatever the others say.
func (v *vote) decided() (term Term, ok bool) {
	most := 0
	for _, t := range v.seen {
		if n := len(v.sameAs(t)); n > most {
			term, most = t, n
		}
	}
	switch {
	case most >= v.need:
		term.Fence = common(v.sameAs(term))
		term.Since = since(term.Fence)
		return term, true
	case most+v.open+len(v.errs) < v.need:
		return Term{}, true
	}
	return Term{}, false
}

// sameAs returns the answers that name the same leader. A hold without an id has a number of its own at each node.
func (v *vote) sameAs(t Term) (same []Term) {
	for _, other := range v.seen {
		if other.ID == t.ID && other.Metadata == t.Metadata {
			same = append(same, other)
		}
	}
	return same
}

// common returns the number on which most of the nodes agree. A majority has the number of the lock. A node that was
// won back later has a greater number of its own. So if as many nodes have one number as another, the smaller one is
// right.
func common(terms []Term) int64 {
	counts := make(map[int64]int)
	var best int64
	for _, t := range terms {
		counts[t.Fence]++
	}
	for number, n := range counts {
		if n > counts[best] || n == counts[best] && number < best {
			best = number
		}
	}
	return best
}

// why is the error of a vote that has not decided.
func (v *vote) why() error {
	if v.need == 1 {
		return v.errs[0]
	}
	return fmt.Errorf("%w: %w", errUndecided, errors.Join(v.errs...))
}
