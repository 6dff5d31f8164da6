package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/rights"
)

// report asks one server about the user, once for both checks.
func (p *patient) report(ctx context.Context, n *node) (rights.Report, error) {
	if n.rights == nil {
		place := rights.Single
		if p.cluster {
			place = rights.Cluster
		}
		r, err := rights.On(ctx, n.rdb, p.conn.Prefix, place)
		if err != nil {
			return r, err
		}
		n.rights = &r
	}
	return *n.rights, nil
}

// checkCommands looks for commands that were renamed or disabled.
func checkCommands(ctx context.Context, p *patient) []Finding {
	return p.everywhere(func(n *node) Finding {
		r, err := p.report(ctx, n)
		switch {
		case err != nil:
			return notSeen(err, "the right to connect")
		case len(r.Unknown) == 0:
			return fine("every command that locks need is there")
		}
		return bad(Fault, "the server does not know "+strings.Join(r.Unknown, ", "),
			"for what each of them is needed stands in docs/rights.md; without eval and evalsha there are no locks at all.",
			"take rename-command out of redis.conf, and forbid commands by ACL instead; a service that has no scripts cannot be used.")
	})
}

// checkRights asks what the user may not do.
func checkRights(ctx context.Context, p *patient) []Finding {
	var found []Finding
	for _, n := range p.nodes {
		if n.err != nil {
			continue
		}
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
	what, status := m.Command, Warning
	if what == "" {
		what = "use the names " + cli.Text(m.Pattern)
	}
	if strings.HasPrefix(m.For, "every") {
		status = Fault
	}
	f := bad(status, fmt.Sprintf("this user may not %s: needed for %s", what, m.For), "", "ACL SETUSER … "+cli.Text(m.Rule)+" on every server (docs/rights.md); or leave it, if nobody uses that.")
	if status == Fault {
		f.Mend = "ACL SETUSER … " + cli.Text(m.Rule) + " on every server (docs/rights.md)."
	}
	if m.Pattern == "~*" && prefix == "" {
		f.Status = Warning
		f.Means = "without --prefix, any name could be that of a lock."
		f.Mend = "if all your locks begin alike, run redislock doctor --prefix PREFIX."
	}
	return f
}
