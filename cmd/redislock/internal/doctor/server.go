package doctor

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// checkServer looks at what each server is.
func checkServer(ctx context.Context, p *patient) (found []Finding) {
	for _, n := range p.nodes {
		found = append(found, p.serverIs(ctx, n).on(n))
	}
	return found
}

func (p *patient) serverIs(ctx context.Context, n *node) Finding {
	isNamed := n == p.nodes[0] && !p.cluster && p.conn.Sentinel == nil // by the user
	switch {
	case n.err != nil && p.isOnline(n):
		return unknown("cannot be reached from here, but its primary says that it is connected: "+n.err.Error(), "")
	case n.err != nil:
		return bad(Fault, "cannot be reached: "+n.err.Error(),
			"The other servers give this address. A replica that is away cannot take the place of its primary, and with WithReplicas nobody gets a lock.",
			"start it, or take it out of the configuration; it may also be that this machine cannot reach it and others can.")
	case n.infoErr != nil:
		return notSeen(n.infoErr, byInfo)
	case n.info["loading"] == "1":
		return bad(Fault, "is still loading its data", "It refuses every command until it has read its file.", "wait, and look again.")
	case isNamed && n.info["role"] == "slave":
		return bad(Fault, "is a replica: it takes no writes",
			"Every Obtain fails with READONLY, or takes locks that the primary does not know if replica-read-only is off.",
			fmt.Sprintf("use the primary, %s:%s, or a URL with ?master_name=… that finds it by Sentinel.", cli.Text(n.info["master_host"]), n.info["master_port"]))
	}
	name, version := n.makes(ctx)
	switch {
	case name == "":
		return bad(Warning, "is no Redis or Valkey of which anything is known",
			"Locks need scripts that are done as a whole, the expiry of keys, and pub/sub. A proxy or another make of server may have them, or may not.",
			"try it with redislock demo --redis URL, and look at what its documentation says of Lua scripts, expiry and replication.")
	case n.isReplica:
		return fine("%s %s, replica", name, version)
	}
	return fine("%s %s, primary", name, version)
}

// isOnline reports whether a primary has that replica. Servers in containers often know one another by addresses that nobody
// else can reach.
func (p *patient) isOnline(replica *node) bool {
	return slices.ContainsFunc(p.nodes, func(n *node) bool {
		return slices.ContainsFunc(n.replicas(), func(r map[string]string) bool {
			return r["state"] == "online" && net.JoinHostPort(r["ip"], r["port"]) == replica.addr
		})
	})
}

// makes says who has made the server, and its version; empty if it is nobody whom we know. What calls itself "redis" may be
// something else that has to look like it: some of them say so.
func (n *node) makes(ctx context.Context) (name, version string) {
	for _, alien := range []string{"dragonfly_version", "kvrocks_version", "garnet_version", "keydb_version", "sabledb_version"} {
		if n.info[alien] != "" {
			return "", ""
		}
	}
	server := n.info["server_name"] // of Valkey
	if server == "" {
		server = cli.Hello(ctx, n.rdb, "server")
	}
	switch {
	case strings.EqualFold(server, "valkey") && n.info["valkey_version"] != "":
		return "Valkey", n.info["valkey_version"]
	case n.info["redis_version"] == "" || server != "" && !strings.EqualFold(server, "redis"):
		return "", ""
	}
	return "Redis", n.info["redis_version"]
}
