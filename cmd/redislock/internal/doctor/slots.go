package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock/internal/count"
)

// checkSlots asks every node of a Cluster what it knows of the slots.
func checkSlots(ctx context.Context, p *patient) []Finding {
	if !p.cluster {
		return []Finding{fine("this is no Cluster")}
	}
	return each((*patient).reached, checkCoverage)(ctx, p)
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
