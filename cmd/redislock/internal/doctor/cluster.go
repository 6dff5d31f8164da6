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
	return p.everywhere(func(n *node) Finding {
		text, err := n.rdb.ClusterInfo(ctx).Result()
		if err != nil {
			return notSeen(err, "+cluster|info")
		}
		if f, ok := n.covered(fields(text)); !ok {
			return f
		}
		if n.isReplica {
			return fine("every slot is served")
		}
		nodes, err := n.rdb.ClusterNodes(ctx).Result()
		if err != nil {
			return notSeen(err, "+cluster|nodes").after("every slot is served; whether one is on the move")
		}
		return judgeMoves(movesIn(nodes))
	})
}

// covered reports whether every slot is served, as the node sees it.
func (n *node) covered(info map[string]string) (Finding, bool) {
	assigned, failed := info["cluster_slots_assigned"], info["cluster_slots_fail"]
	if info["cluster_state"] == "ok" && assigned == "16384" && failed == "0" {
		return Finding{}, true
	}
	means := "Locks in those slots are refused."
	if full, err := n.setting("cluster-require-full-coverage"); err == nil && full == "yes" {
		means = "cluster-require-full-coverage is yes, so every lock is refused (CLUSTERDOWN), also in the slots that are served."
	}
	return bad(Fault, fmt.Sprintf("the Cluster is in state %s: %s of 16384 slots have a primary, %s of them failed", info["cluster_state"], assigned, failed),
		means, "start the nodes that are away, or redis-cli --cluster fix HOST:PORT."), false
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
			slot, _, leaves := strings.Cut(strings.Trim(word, "[]"), "->-")
			if leaves {
				moves = append(moves, slot+" leaves it")
			} else if slot, _, comes := strings.Cut(strings.Trim(word, "[]"), "-<-"); comes {
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
