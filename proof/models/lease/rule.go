package lease

import "github.com/seed-14de3678/redislock/proof/models/explore"

// A rule is one that can be left out.
type rule int8

const (
	none rule = iota
	fromReply
	noMargin
	extendsLate
	revives
	onAnswer
	takesAny
	freesAny
	jumps
	loses
	drifts
	unfenced
	greater
	twoSteps
	notStored
	forgotten
	fromOne
)

// rules says of each of them what is left out.
var rules = explore.Table[rule]{
	fromReply:   {Name: "fromreply", Text: "the deadline is counted from the answer instead of from before the request was sent"},
	noMargin:    {Name: "nomargin", Text: "the deadline is counted without a margin for clocks that drift"},
	extendsLate: {Name: "extendslate", Text: "a renewal whose answer comes after the deadline extends the lock"},
	revives:     {Name: "revives", Text: "a renewal that is answered after the loss was told makes the lock held again"},
	onAnswer:    {Name: "onanswer", Text: "a loss is told only when an answer says so"},
	takesAny:    {Name: "takesany", Text: "a renewal takes the key, whoever has it"},
	freesAny:    {Name: "freesany", Text: "a release frees the key, whoever has it"},
	jumps:       {Name: "jumps", Text: "the server's clock jumps ahead: that is documented"},
	loses:       {Name: "forgets", Text: "the server loses its data: that is documented"},
	drifts:      {Name: "drifts", Text: "a clock drifts by more than the margin: that is documented"},
	unfenced:    {Name: "unfenced", Text: "the resource compares no numbers: that is documented"},
	greater:     {Name: "greater", Text: "the resource takes greater numbers only, and not the same number again"},
	twoSteps:    {Name: "twosteps", Text: "the resource compares in one step and writes in another one"},
	notStored:   {Name: "notstored", Text: "a number is not stored with the grant, but is that of the clock alone"},
	forgotten:   {Name: "forgotten", Text: "a number is forgotten with the lock instead of outliving it"},
	fromOne:     {Name: "fromone", Text: "numbers begin at one instead of at the clock when nothing is stored"},
}
