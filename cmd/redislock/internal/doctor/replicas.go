package doctor

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-14de3678/redislock/internal/count"
)

// staleSeconds is after how long a replica that says nothing counts as one that is away: it reports once a second.
const staleSeconds = 10

// checkReplicas compares the replicas that are connected with those that there are to be, and asks each replica for its link.
func checkReplicas(_ context.Context, e *exam) Finding {
	e.answered(e.infoErr, byInfo)
	if e.isReplica {
		return e.judgeReplica()
	}
	return e.judgePrimary(e.p.expected(e.node))
}

// expected is how many replicas a primary is to have: as many as the user says, or as Sentinel or the Cluster know.
func (p *patient) expected(primary *node) int {
	if p.opts.replicas >= 0 {
		return p.opts.replicas
	}
	expected := 0
	for _, n := range p.nodes {
		if n.isReplica && n.primary == primary.addr {
			expected++
		}
	}
	return expected
}

// judgePrimary counts the replicas that are connected and say something.
func (n *node) judgePrimary(expected int) Finding {
	online := 0
	for _, replica := range n.replicas() {
		if lag, err := strconv.Atoi(replica["lag"]); replica["state"] == "online" && err == nil && lag <= staleSeconds {
			online++
		}
	}
	text := fmt.Sprintf("%s of %d connected and up to date", count.Of(online, "replica"), max(expected, online))
	switch {
	case online < expected:
		return bad(Fault, text,
			"A fail-over has fewer servers to choose from; and with WithReplicas, which counts on all of them, nobody gets a lock.",
			"start the replicas that are away, and look at their logs; if they are gone for good, take them out (SENTINEL RESET, CLUSTER FORGET).")
	case online == 0:
		return fine("no replicas: if this server is gone, so are its locks")
	case expected < online:
		return bad(Warning, fmt.Sprintf("%s connected, %d configured", count.Of(online, "replica"), expected),
			"The number of WithReplicas has to be that of all replicas: with a smaller one a fail-over can lose locks.", "give WithReplicas the number that there are.")
	}
	return fine("%s", text)
}

// judgeReplica looks at the link to its primary.
func (n *node) judgeReplica() Finding {
	switch {
	case n.info["role"] != "slave":
		return bad(Fault, "takes itself for a primary, and others take it for a replica",
			"Two servers may grant the same lock, one to each of two owners.", "find out which of them is right; REPLICAOF HOST PORT on the other one.")
	case n.info["master_link_status"] != "up":
		return bad(Fault, "its link to the primary is down", "If it takes the primary's place, it knows nothing of the locks taken since.",
			"look at its log: wrong masterauth, a network that is cut, or a primary that cannot make a snapshot.")
	case n.info["slave_read_only"] == "0":
		return bad(Warning, "takes writes (replica-read-only no)", "A client that is sent to it gets locks of which the primary knows nothing.",
			"CONFIG SET replica-read-only yes, and in redis.conf.")
	}
	return fine("its link to the primary is up")
}

// checkMinReplicas looks at what a primary does without its replicas. The server counts the good ones if it needs some.
func checkMinReplicas(_ context.Context, e *exam) Finding {
	least, lag := e.number("min-replicas-to-write", byConfig), e.number("min-replicas-max-lag", byConfig)
	connected := e.count("connected_slaves")
	good, err := strconv.ParseInt(e.info["min_slaves_good_slaves"], 10, 64)
	if err != nil {
		good = connected
	}
	switch isOff := least == 0 || lag == 0; {
	case isOff && connected == 0:
		return fine("min-replicas-to-write is off, and there are no replicas")
	case isOff:
		return bad(Warning, "min-replicas-to-write is off",
			"A primary that is cut off from its replicas goes on granting locks for as long as it has not learned that another one has taken its place: two owners at once.",
			"CONFIG SET min-replicas-to-write 1 and min-replicas-max-lag 10, and in redis.conf: then it stops after that time. WithReplicas is stricter.")
	case good < least:
		return bad(Fault, fmt.Sprintf("min-replicas-to-write is %d, and %s", least, count.Of(good, "good replica")),
			"The server refuses every write (NOREPLICAS): nobody gets a lock, and leases are not renewed.",
			"start the replicas that are away, or CONFIG SET min-replicas-to-write to what there is.")
	}
	return fine("min-replicas-to-write is %d with a lag of %d s at most, and %s", least, lag, count.Of(good, "good replica"))
}
