package survey

import (
	"io"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// Notes are what a survey has seen beside the locks.
type Notes struct {
	Keys    int64 // that the servers have, so far as they were looked at
	Refused int64 // keys that this user may not read
	Foreign int64 // keys that seem to hold something that is no lock, and were not looked at any further
	// Moving are keys of slots that move to another master of the Cluster: what stands beside them could not be asked for.
	Moving int64
	// OwnTokens are locks whose tokens are the callers' own, and that were found by what stands beside them alone. There may
	// be others, with nothing beside them.
	OwnTokens int64
}

// Tell says what may be missing in what was found.
func (n *Notes) Tell(w io.Writer) {
	say := func(keys int64, one, many, rest string) {
		if keys > 0 {
			cli.Say(w, "%s%s\n", count.Either(keys, one, many), rest)
		}
	}
	say(n.Refused, "key was left out, because this user may not read it", "keys were left out, because this user may not read them",
		"; --prefix limits the search to keys of locks")
	say(n.Foreign, "key more is foreign, or seems to be", "keys more are foreign, or seem to be", "")
	say(n.Moving, "key is", "keys are", " in slots that move from one master to another: who waits for them is not known until they have moved")
	say(n.OwnTokens, "key has", "keys have", " a token of the caller's own choosing, and was found by the fencing number beside it;\n"+
		"others like it may be missed without --prefix")
}
