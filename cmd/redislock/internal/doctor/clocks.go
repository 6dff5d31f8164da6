package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A reading is how far a server's clock is ahead of ours, and by how much that may be wrong.
type reading struct{ ahead, within time.Duration }

// readings is how often each clock is read: the quickest answer is the one that counts.
const readings = 9

// readClock asks a server for the time, several times.
func (n *node) readClock(ctx context.Context) (reading, error) {
	var best reading
	for i := range readings {
		began := time.Now()
		theirs, err := n.rdb.Time(ctx).Result()
		if err != nil {
			return best, err
		}
		took := time.Since(began)
		// The server has read its clock at some moment between the request and the answer.
		r := reading{ahead: theirs.Sub(began.Round(0).Add(took / 2)), within: took / 2}
		if i == 0 || r.within < best.within {
			best = r
		}
	}
	return best, nil
}

// checkClocks compares the clock of each primary with ours, and then that of each replica with its primary's.
func checkClocks(ctx context.Context, p *patient) (found []Finding) {
	primaries := map[string]reading{}
	replicas := slices.DeleteFunc(p.reached(), func(n *node) bool { return !n.isReplica })
	for _, n := range append(p.primaries(), replicas...) {
		r, err := n.readClock(ctx)
		primary, known := primaries[n.primary]
		switch {
		case err != nil:
			found = append(found, notSeen(err, "+time").on(n))
		case !n.isReplica:
			primaries[n.primary] = r
			found = append(found, judgeOurs(r).on(n))
		case known:
			d := reading{ahead: r.ahead - primary.ahead, within: r.within + primary.within}
			found = append(found, judgeReplicaClock(d, p.opts.ttl).on(n))
		}
	}
	return found
}

// judgeOurs judges the clock of a primary by ours. Locks do not count on that, but people who compare logs do.
func judgeOurs(r reading) Finding {
	if r.ahead.Abs() <= time.Second+r.within {
		return fine("the primary's clock agrees with this machine's within a second")
	}
	return bad(Warning, "the primary's clock is "+r.String()+" this machine's",
		"Leases count by the server's clock and are not harmed. Times that are shown, such as since when somebody waits, are wrong by that.",
		"have both machines keep time by NTP: chronyc tracking.")
}

// judgeReplicaClock judges the clock of a replica by that of its primary. Lock.Deadline allows for 1 % of the ttl and 2 ms.
func judgeReplicaClock(d reading, ttl time.Duration) Finding {
	allowed := ttl/100 + 2*time.Millisecond
	text := "the replica's clock is " + d.String() + " its primary's"
	const mend = "have all servers keep time by NTP: chronyc tracking; until then use longer ttls."
	switch {
	case d.ahead-d.within > allowed:
		return bad(Fault, text,
			fmt.Sprintf("With a ttl of %s, Lock.Deadline allows for %s. After a fail-over to it, somebody else gets a lock before the deadline of its holder, whatever WithReplicas says.", cli.Duration(ttl), cli.Duration(allowed)), mend)
	case d.ahead+d.within < -time.Second:
		return bad(Warning, text, "After a fail-over to it, locks stay held longer, by that much.", mend)
	case d.ahead+d.within > allowed:
		return Finding{Status: Unknown, Found: text + fmt.Sprintf(": answers are too slow to tell whether it is less than %s", cli.Duration(allowed)), Mend: "run it on a machine that is nearer to the servers."}
	}
	return fine("the replica's clock agrees with its primary's, as a ttl of %s needs", cli.Duration(ttl))
}

// String says which of two clocks is ahead.
func (r reading) String() string {
	where := "ahead of"
	if r.ahead < 0 {
		where = "behind"
	}
	return fmt.Sprintf("%s (± %s) %s", cli.Duration(r.ahead.Abs()), cli.Duration(r.within), where)
}
