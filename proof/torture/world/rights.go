package world

import "slices"

// The user of the processes. It has no more rights than the documents say, while the default user, for whom there are no
// limits, makes the faults.
const (
	username = "app"
	password = "secret"
)

// commands are what docs/rights.md grants for all of the library and for package fencing.
func commands() []string {
	return []string{
		"eval", "evalsha", "del", "exists", "get", "hdel", "hget", "hlen", "hset", "info", "mget", "msetnx",
		"pexpire", "pexpireat", "publish", "pttl", "set", "spublish", "subscribe", "time", "type", "unlink", "wait",
		"zadd", "zcard", "zcount", "zpopmin", "zrange", "zrem", "zremrangebyscore", "zrevrangebyscore", "zscore",
		"ssubscribe", "sunsubscribe", "cluster|slots", "command", "unsubscribe", "ping", // a Cluster and a Ring
		"hexists", "persist", "hgetall", // package fencing
	}
}

// guardCommands are those without which late requests cannot be kept out: see docs/rights.md, "Guards".
func guardCommands() []string {
	return []string{"exists", "zadd", "zscore", "zremrangebyscore", "pttl", "pexpire", "zrange"}
}

// plainCommands are the others that a lock needs.
func plainCommands() []string {
	all := []string{
		"eval", "evalsha", "del", "get", "hget", "hset", "mget", "msetnx", "pexpireat", "publish", "set", "subscribe",
		"time", "type", "zcard", "zcount", "zpopmin", "zrem",
	}
	return slices.DeleteFunc(all, func(c string) bool { return slices.Contains(guardCommands(), c) })
}

// rights are the rules of the user.
func rights() []string {
	rules := []string{"~*", "resetchannels", "&redislock:*", "-@all"}
	for _, c := range commands() {
		rules = append(rules, "+"+c)
	}
	return rules
}
