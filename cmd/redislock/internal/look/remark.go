package look

import (
	"io"
	"time"

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
	if l.notes.Keys > 0 && failed != nil {
		cli.Say(w, "the list is not complete: %s looked at\n", count.Either(l.notes.Keys, "key was", "keys were"))
	}
	if n := l.notes.Refused; n > 0 {
		cli.Say(w, "%s; -prefix limits the search to keys of locks\n",
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
			"others like it may be missed without -prefix\n", count.Either(n, "key has", "keys have"))
	}
	for _, certain := range []bool{false, true} {
		if text := tree.Told(l.circles, certain); text != "" {
			cli.Say(w, "%s; redislock tree says more\n", text)
		}
	}
}

const (
	// manyKeys are so many that one wants to know how far a survey is.
	manyKeys = 20_000
	// metered is how far apart two lines about that are, if they do not overwrite one another.
	metered = 3 * time.Second
)

// A meter shows on stderr how far a survey is.
type meter struct {
	*cli.Screen
	last time.Time
}

func newMeter(w io.Writer) *meter { return &meter{Screen: cli.NewScreen(w), last: time.Now()} }

// show is called after each round of a survey.
func (m *meter) show(done, all int64) {
	text := "looked at " + count.Number(done) + " keys"
	if all > 0 {
		text = "looked at " + count.Number(done) + " of " + count.Number(all) + " keys"
	}
	switch {
	case max(done, all) < manyKeys:
	case m.Live:
		m.Flash("%s", text)
	case time.Since(m.last) >= metered:
		m.last = time.Now()
		m.Line("%s", text)
	}
}

// settle takes what was shown away, where that can be done.
func (m *meter) settle() { m.Settle() }
