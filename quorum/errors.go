package quorum

import (
	"errors"
	"fmt"
	"strings"
)

// A NodeError says why one node has not done an operation that needs a majority. If too few nodes have
// done the operation, its error has a NodeError for each of the others: [errors.As] finds the first
// one, [NodeErrors] all of them.
//
// One node does not know what has become of the lock: the whole error says that. So [errors.Is]
// does not look into NodeErrors, unless it is given one.
type NodeError struct {
	Node int   // its index in the slice that was given to [New]
	Err  error // of its Client
}

// Error names the node, and says what its error does.
func (e *NodeError) Error() string {
	return fmt.Sprintf("nodes[%d]: %s", e.Node, strings.TrimPrefix(e.Err.Error(), "redislock: "))
}

// Unwrap returns the error of the node's Client.
func (e *NodeError) Unwrap() error { return e.Err }

// NodeErrors returns the errors of all nodes that an error of this package has, in the order of the
// nodes. There are none if the nodes were not asked.
func NodeErrors(err error) []*NodeError {
	all, _ := errors.AsType[everyNode](err)
	return all
}

// everyNode is the target with which [NodeErrors] calls [errors.As]. It is an error only so that errors.As accepts it.
type everyNode []*NodeError

func (everyNode) Error() string { return "" }

// errOpen is the error of a node that has not answered by the end of the operation.
var errOpen = errors.New("no answer yet")

// nodes returns the error of every node that was asked and has not done it.
func (r *round) nodes() []*NodeError {
	var all []*NodeError
	for i := range r.answers {
		switch a := &r.answers[i]; a.kind {
		case open:
			all = append(all, &NodeError{Node: i, Err: errOpen})
		case no, failed, unknown:
			all = append(all, &NodeError{Node: i, Err: a.err})
		}
	}
	return all
}
