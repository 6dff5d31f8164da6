package redlock

import "github.com/seed-14de3678/redislock/proof/models/explore"

// A rule is one that can be left out.
type rule int8

const (
	none rule = iota
	fewer
	fromEnd
	noWait
	fewRenewed
	jumps
	noWriteBack
	fewRaised
	anyNumber
	skewedLoss
	notUndone
	grantedOnly
	allNeeded
)

// rules says of each of them what is left out.
var rules = explore.Table[rule]{
	fewer:       {Name: "fewer", Text: "one node less than a majority is enough"},
	fromEnd:     {Name: "fromend", Text: "a lease is counted from the answer instead of from before the request was sent"},
	noWait:      {Name: "nowait", Text: "a node that has restarted without its data grants locks at once: that is documented"},
	fewRenewed:  {Name: "fewrenewed", Text: "a lease that less than a majority has renewed counts"},
	jumps:       {Name: "jumps", Text: "the clock of a node jumps ahead: that is documented"},
	noWriteBack: {Name: "nowriteback", Text: "the greatest number is not written back to a majority"},
	fewRaised:   {Name: "fewraised", Text: "the greatest number is written back to less than a majority"},
	anyNumber:   {Name: "anynumber", Text: "a lock has the smallest number of those that its nodes have given instead of the greatest"},
	skewedLoss:  {Name: "skewedloss", Text: "a node loses its numbers while the clock of another one is ahead: that is documented"},
	notUndone:   {Name: "notundone", Text: "what too few nodes have granted is not released"},
	grantedOnly: {Name: "grantedonly", Text: "an Obtain that fails releases only at the nodes of which it knows that they have granted it"},
	allNeeded:   {Name: "allneeded", Text: "a lock needs all nodes"},
}
