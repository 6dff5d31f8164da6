package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/rights"
)

// report asks one server about the user, once for both checks.
func (p *patient) report(ctx context.Context, n *node) (report rights.Report, err error) {
	if n.rights == nil {
		report, err = rights.On(ctx, n.rdb, p.conn.Prefix, p.cluster)
		if err != nil {
			return report, err
		}
		n.rights = &report
	}
	return *n.rights, nil
}

// checkCommands looks for commands that were renamed or disabled.
func checkCommands(ctx context.Context, e *exam) Finding {
	r, err := e.p.report(ctx, e.node)
	e.answered(err, "the right to connect")
	if len(r.Unknown) == 0 {
		return fine("every command that locks need is there")
	}
	return bad(Fault, "the server does not know "+strings.Join(r.Unknown, ", "),
		"for what each of them is needed stands in docs/rights.md; without eval and evalsha there are no locks at all.",
		"take rename-command out of redis.conf, and forbid commands by ACL instead; a service that has no scripts cannot be used.")
}

// checkRights asks what the user may not do.
func checkRights(ctx context.Context, p *patient) (found []Finding) {
	for _, n := range p.reached() {
		r, err := p.report(ctx, n)
		switch {
		case err != nil:
			found = append(found, notSeen(err, "the right to connect").on(n))
		case len(r.Missing) == 0:
			found = append(found, fine("this user may do everything that locks need").on(n))
		}
		for _, m := range r.Missing {
			found = append(found, lacks(m, p.conn.Prefix).on(n))
		}
	}
	return found
}

// lacks is a finding for one right that is missing. One that a plain lock does not need may be left out on purpose.
func lacks(m rights.Missing, prefix string) Finding {
	what := cmp.Or(m.Command, "use the names "+cli.Text(m.Pattern))
	f := bad(Warning, fmt.Sprintf("this user may not %s: needed for %s", what, m.For), "",
		"ACL SETUSER … "+cli.Text(m.Rule)+" on every server (docs/rights.md)")
	switch {
	case m.Pattern == "~*" && prefix == "":
		f.Means = "without --prefix, any name could be that of a lock."
		f.Mend = "if all your locks begin alike, run redislock doctor --prefix PREFIX."
	case strings.HasPrefix(m.For, "every"):
		f.Status = Fault
		f.Mend += "."
	default:
		f.Mend += "; or leave it, if nobody uses that."
	}
	return f
}
