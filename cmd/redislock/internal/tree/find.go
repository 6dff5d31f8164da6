package tree

import (
	"context"
	"strings"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// A Circle is a deadlock, for commands that do not draw it.
type Circle struct {
	Certain bool
	Keys    []string // that are waited for in it
	Text    string   // who waits for which key of whom
}

// Circles finds the deadlocks among keys. What may be one is read twice more, which takes half a second; otherwise nothing is.
// Of those who wait for a key that they hold themselves only the certain ones count. Tokens are compared by a script for each key
// that somebody waits for; if conn is nil they are not.
func Circles(ctx context.Context, conn *cli.Conn, look func(context.Context, []string) ([]redislock.KeyState, error), states []redislock.KeyState) ([]Circle, error) {
	v, err := newView(ctx, waited(states), look, newMarker(conn), settling)
	if err != nil {
		return nil, err
	}
	n, arrow := namesOf(v.settled, false), " "+boxes.arrow+" "
	if !cli.UTF8() {
		n.ascii, arrow = true, " "+plain.arrow+" "
	}
	var circles []Circle
	for i := range v.deadlocks {
		d := &v.deadlocks[i]
		c := Circle{Certain: d.certain}
		words := []string{n.brief(d.steps[0].party)}
		for s, next := range d.links() {
			key := v.states[s.state].Key
			c.Keys = append(c.Keys, key)
			words = append(words, n.show(key, 30), n.brief(next.party))
		}
		c.Text = strings.Join(words, arrow)
		circles = append(circles, c)
	}
	return circles, nil
}

// Told says in one line how many of these circles are certain, or only possible, with the first of them; empty if there is none.
func Told(circles []Circle, certain bool) string {
	first, n := "", 0
	for _, c := range circles {
		if c.Certain == certain {
			if n++; n == 1 {
				first = c.Text
			}
		}
	}
	what := map[bool]string{true: "certain deadlock", false: "possible deadlock"}[certain]
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what + ": " + first
	}
	return count.Of(n, what) + ", such as " + first
}
