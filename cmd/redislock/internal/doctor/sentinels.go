package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock/internal/count"
)

// checkSentinels asks each Sentinel whether there are enough of them.
func checkSentinels(ctx context.Context, p *patient) []Finding {
	if p.failover == nil {
		return []Finding{fine("there is no Sentinel to look at")}
	}
	var found []Finding
	reached := 0
	for _, s := range p.sentinels {
		if s.err != nil {
			found = append(found, bad(Fault, "cannot be used: "+s.err.Error(),
				"With too few Sentinels nobody takes the place of a primary that is gone, and programs that know only this one do not find the primary.",
				"start it, or take it out of the addresses that your programs have.").on(s))
			continue
		}
		reached++
		found = append(found, p.quorum(ctx, s).on(s))
	}
	if reached > 0 && len(p.sentinels) < 3 {
		found = append(found, bad(Warning, count.Of(len(p.sentinels), "Sentinel")+", fewer than three",
			"If one of them is gone the others are no majority: nobody takes the place of a primary that is gone at the same time.", "run three of them, on three machines."))
	}
	return found
}

// quorum asks one of them whether a fail-over can be agreed on, and which server it takes for the primary.
func (p *patient) quorum(ctx context.Context, s *node) Finding {
	text, err := s.rdb.Do(ctx, "sentinel", "ckquorum", p.failover.MasterName).Text()
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "NOQUORUM"):
		return bad(Fault, "no quorum: "+strings.TrimPrefix(err.Error(), "NOQUORUM "),
			"Nobody takes the place of a primary that is gone: no locks until somebody mends that by hand.", "start the Sentinels that are away, or lower the quorum by SENTINEL SET.")
	case err != nil:
		return notSeen(err, "+sentinel|ckquorum")
	}
	addr, err := s.rdb.Do(ctx, "sentinel", "get-master-addr-by-name", p.failover.MasterName).StringSlice()
	if err == nil && len(addr) != 2 {
		err = oddity("it does not say who the primary is")
	}
	if err != nil {
		return notSeen(err, "+sentinel|get-master-addr-by-name")
	}
	if says := addr[0] + ":" + addr[1]; says != p.nodes[0].addr && "["+addr[0]+"]:"+addr[1] != p.nodes[0].addr {
		return bad(Fault, fmt.Sprintf("says that %s is the primary, another one says %s", says, p.nodes[0].addr),
			"Programs take locks at two servers, unless a fail-over is just under way.", "look again in a minute; if it stays so, SENTINEL RESET on the one that is wrong.")
	}
	return fine("a fail-over can be agreed on: %s", strings.TrimPrefix(text, "OK "))
}
