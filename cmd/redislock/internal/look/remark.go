package look

import (
	"io"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/tree"
	"github.com/seed-14de3678/redislock/internal/count"
)

// remark says what the list does not: why it is empty, and what may be missing in it.
func (l *listing) remark(w io.Writer, conn *cli.Conn, pattern string, failed error) {
	if len(l.states) == 0 && failed == nil {
		what := "no key"
		if conn.Prefix != "" {
			what += " behind the prefix " + cli.Text(conn.Prefix)
		}
		if pattern != "" {
			what += " that matches " + cli.Text(pattern)
		}
		if l.waiting || l.held || l.holder != "" {
			cli.Say(w, "%s is locked or waited for as the flags ask, on %s\n", what, conn.Name)
		} else {
			cli.Say(w, "%s is locked or waited for on %s\n", what, conn.Name)
		}
	}
	if len(l.states) > 0 && pattern == "" {
		cli.Say(w, "%s", conn.Cut(l.states[0].Key))
	}
	if l.notes.Keys > 0 && failed != nil {
		cli.Say(w, "the list is not complete: %s looked at\n", count.Either(l.notes.Keys, "key was", "keys were"))
	}
	if n := l.notes.Refused; n > 0 {
		cli.Say(w, "%s; --prefix limits the search to keys of locks\n",
			count.Either(n, "key was left out, because this user may not read it", "keys were left out, because this user may not read them"))
	}
	if n := l.notes.Foreign; n > 0 {
		cli.Say(w, "%s\n", count.Either(n, "key more is foreign, or seems to be", "keys more are foreign, or seem to be"))
	}
	if n := l.notes.Moving; n > 0 {
		cli.Say(w, "%s in slots that move from one master to another: who waits for them is not known until they have moved\n",
			count.Either(n, "key is", "keys are"))
	}
	if n := l.notes.OwnTokens; n > 0 {
		cli.Say(w, "%s a token of the caller's own choosing, and was found by the fencing number beside it;\n"+
			"others like it may be missed without --prefix\n", count.Either(n, "key has", "keys have"))
	}
	for _, certain := range []bool{false, true} {
		if text := tree.Told(l.circles, certain); text != "" {
			cli.Say(w, "%s; %s says more\n", text, l.redis.Propose("tree"))
		}
	}
}
