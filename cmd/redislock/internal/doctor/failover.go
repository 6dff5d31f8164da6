package doctor

import (
	"context"
	"fmt"
	"net"
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
		found = append(found, p.look(ctx, s, checkQuorum))
	}
	if reached > 0 && len(p.sentinels) < 3 {
		found = append(found, bad(Warning, count.Of(len(p.sentinels), "Sentinel")+", fewer than three",
			"If one of them is gone the others are no majority: nobody takes the place of a primary that is gone at the same time.", "run three of them, on three machines."))
	}
	return found
}

// checkQuorum asks a Sentinel whether a fail-over can be agreed on, and which server it takes for the primary.
func checkQuorum(ctx context.Context, e *exam) Finding {
	text, err := e.rdb.Do(ctx, "sentinel", "ckquorum", e.p.failover.MasterName).Text()
	if why, no := strings.CutPrefix(fmt.Sprint(err), "NOQUORUM"); no {
		return bad(Fault, "no quorum: "+strings.TrimPrefix(why, " "),
			"Nobody takes the place of a primary that is gone: no locks until somebody mends that by hand.", "start the Sentinels that are away, or lower the quorum by SENTINEL SET.")
	}
	if !e.answered(err, "+sentinel|ckquorum") {
		return Finding{}
	}
	addr, err := e.rdb.Do(ctx, "sentinel", "get-master-addr-by-name", e.p.failover.MasterName).StringSlice()
	if err == nil && len(addr) != 2 {
		err = oddity("it does not say who the primary is")
	}
	if !e.answered(err, "+sentinel|get-master-addr-by-name") {
		return Finding{}
	}
	if primary := e.p.nodes[0].addr; net.JoinHostPort(addr[0], addr[1]) != primary {
		return bad(Fault, fmt.Sprintf("says that %s:%s is the primary, another one says %s", addr[0], addr[1], primary),
			"Programs take locks at two servers, unless a fail-over is just under way.", "look again in a minute; if it stays so, SENTINEL RESET on the one that is wrong.")
	}
	return fine("a fail-over can be agreed on: %s", strings.TrimPrefix(text, "OK "))
}

// checkSlots asks every node of a Cluster what it knows of the slots.
func checkSlots(ctx context.Context, p *patient) []Finding {
	if !p.cluster {
		return []Finding{fine("this is no Cluster")}
	}
	return everywhere(checkCoverage)(ctx, p)
}

// checkCoverage asks a node whether every slot is served, and a primary whether one is on the move.
func checkCoverage(ctx context.Context, e *exam) Finding {
	text, err := e.rdb.ClusterInfo(ctx).Result()
	if !e.answered(err, "+cluster|info") {
		return Finding{}
	}
	info := fields(text)
	state, assigned, failed := info["cluster_state"], info["cluster_slots_assigned"], info["cluster_slots_fail"]
	if state != "ok" || assigned != "16384" || failed != "0" {
		means := "Locks in those slots are refused."
		if full, err := e.node.setting("cluster-require-full-coverage"); err == nil && full == "yes" {
			means = "cluster-require-full-coverage is yes, so every lock is refused (CLUSTERDOWN), also in the slots that are served."
		}
		return bad(Fault, fmt.Sprintf("the Cluster is in state %s: %s of 16384 slots have a primary, %s of them failed", state, assigned, failed),
			means, "start the nodes that are away, or redis-cli --cluster fix HOST:PORT.")
	}
	if e.isReplica {
		return fine("every slot is served")
	}
	e.known = "every slot is served; whether one is on the move"
	nodes, err := e.rdb.ClusterNodes(ctx).Result()
	e.answered(err, "+cluster|nodes")
	return judgeMoves(movesIn(nodes))
}

// movesIn finds the slots that a node gives away or takes, in its own line of CLUSTER NODES: "[93->-id]" and "[93-<-id]".
func movesIn(nodes string) []string {
	var moves []string
	for line := range strings.Lines(nodes) {
		words := strings.Fields(line)
		if len(words) < 8 || !strings.Contains(words[2], "myself") {
			continue
		}
		for _, word := range words[8:] {
			word = strings.TrimPrefix(word, "[")
			if slot, _, leaves := strings.Cut(word, "->-"); leaves {
				moves = append(moves, slot+" leaves it")
			} else if slot, _, comes := strings.Cut(word, "-<-"); comes {
				moves = append(moves, slot+" comes to it")
			}
		}
	}
	return moves
}

func judgeMoves(moves []string) Finding {
	if len(moves) == 0 {
		return fine("every slot is served, and none is on the move")
	}
	text := strings.Join(moves[:min(len(moves), 5)], ", ")
	if len(moves) > 5 {
		text += ", …"
	}
	return bad(Warning, fmt.Sprintf("%s on the move: %s", count.Of(len(moves), "slot"), text),
		"Locks of several keys in such a slot are refused (TRYAGAIN) and asked again, until the move is over. A move that was broken off stays so for ever.",
		"wait until the move is over; if nobody moves it any more, redis-cli --cluster fix HOST:PORT.")
}
