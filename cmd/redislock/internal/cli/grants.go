package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/rights"
)

// asked is how long the server may take to say which rights a user lacks.
const asked = 10 * time.Second

// grants says which rights the user of a connection lacks, and how they are granted. It begins a line if it says anything.
func grants(ctx context.Context, r *Redis, answer string) string {
	ctx, cancel := context.WithTimeout(ctx, asked)
	defer cancel()
	user, missing := lacking(ctx, r)
	command := rights.RefusedCommand(answer)
	if rule := "+" + command; command != "" && !slices.ContainsFunc(missing, func(m rights.Missing) bool { return m.Rule == rule }) {
		missing = append([]rights.Missing{{Rule: rule, For: "this command"}}, missing...)
	}
	if len(missing) == 0 {
		return ""
	}
	var b strings.Builder
	rules := make([]string, len(missing))
	fmt.Fprintf(&b, "\nThe user %q lacks these rights:\n", user)
	for i, m := range missing {
		rules[i] = m.Rule
		fmt.Fprintf(&b, "  %-20s for %s\n", m.Rule, m.For)
	}
	fmt.Fprintf(&b, "This grants them; docs/rights.md says what can be left out:\n  ACL SETUSER %s %s", user, strings.Join(rules, " "))
	return b.String()
}

// lacking asks the server who the user is, and what is not allowed to it.
func lacking(ctx context.Context, r *Redis) (user string, missing []rights.Missing) {
	const unnamed = "default" // as the server calls it
	conn, err := r.dial(ctx)
	if err != nil {
		return unnamed, nil // the answer has said enough
	}
	defer conn.Close() //nolint:errcheck // nothing was done that could be lost
	user = cmp.Or(conn.user, unnamed)
	missing, _ = rights.Find(ctx, conn.RDB, r.Prefix)
	if conn.isNode {
		for _, command := range []string{"cluster|slots", "command"} {
			missing = append(missing, rights.Missing{Command: command, For: "every lock on a Cluster", Rule: "+" + command})
		}
	}
	return user, missing
}
