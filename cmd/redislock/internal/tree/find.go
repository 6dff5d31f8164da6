package tree

import (
	"context"
	"slices"
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
// Tokens are compared by a script for each key that somebody waits for; if conn is nil they are not.
func Circles(ctx context.Context, conn *cli.Conn, look inspect, states []redislock.KeyState) ([]Circle, error) {
	v, err := newView(ctx, waited(states), look, newMarker(conn), settling)
	if err != nil {
		return nil, err
	}
	n := namesOf(v.settled)
	if !cli.UTF8() {
		n.glyphs = plain
	}
	var circles []Circle
	for i := range v.deadlocks {
		d := &v.deadlocks[i]
		c := Circle{Certain: d.Certain, Text: strings.Join(v.chain(d, n), " ")}
		for _, s := range d.Steps {
			c.Keys = append(c.Keys, v.states[s.state].Key)
		}
		circles = append(circles, c)
	}
	return circles, nil
}

// Told says in one line how many of these circles are certain, or only possible, with the first of them; empty if there is none.
func Told(circles []Circle, certain bool) string {
	some := slices.DeleteFunc(slices.Clone(circles), func(c Circle) bool { return c.Certain != certain })
	if len(some) == 0 {
		return ""
	}
	before := ": "
	if len(some) > 1 {
		before = ", such as "
	}
	return count.Of(len(some), (&deadlock{Certain: certain}).kind()+" deadlock") + before + some[0].Text
}
