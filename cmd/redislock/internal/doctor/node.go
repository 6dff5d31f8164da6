package doctor

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/rights"
)

// A node is one server, and what it says of itself.
type node struct {
	addr      string
	rdb       *redis.Client
	err       error // it cannot be reached
	isReplica bool
	primary   string // the address of its primary, or its own if it is one

	info      map[string]string // by the names of INFO
	infoErr   error             // it may not be asked
	config    map[string]string // by the names of CONFIG GET
	configErr error             // it may not be asked

	rights *rights.Report // nil until it was asked
}

// newNode asks a server about itself.
func newNode(ctx context.Context, addr string, rdb *redis.Client) *node {
	n := &node{addr: addr, rdb: rdb}
	text, err := rdb.Info(ctx).Result()
	switch {
	case err != nil && !isAnswer(err):
		n.err = err
		return n
	case err != nil:
		n.infoErr = err
	default:
		n.info = fields(text)
		n.isReplica = n.info["role"] == "slave"
	}
	n.config, n.configErr = rdb.ConfigGet(ctx, "*").Result()
	if n.configErr == nil && len(n.config) == 0 {
		n.configErr = oddity("ERR unsupported: CONFIG GET says nothing")
	}
	return n
}

// fields reads lines "name:value".
func fields(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); found {
			all[name] = value
		}
	}
	return all
}

// inInfo are the settings that INFO tells, too, for users who may not ask CONFIG.
var inInfo = map[string]string{
	"maxmemory": "maxmemory", "maxmemory-policy": "maxmemory_policy", "appendonly": "aof_enabled",
}

// setting returns a setting by the name of CONFIG GET. The error is that of CONFIG GET, for [notSeen].
func (n *node) setting(name string) (string, error) {
	if value, ok := n.config[name]; ok {
		return value, nil
	}
	if value, ok := n.info[inInfo[name]]; ok {
		if name == "appendonly" {
			value = cmp.Or(map[string]string{"0": "no"}[value], "yes")
		}
		return value, nil
	}
	if n.configErr != nil {
		return "", n.configErr
	}
	return "", oddity("ERR unsupported: there is no setting " + name)
}

// count is a number in INFO, 0 if it is not there.
func (n *node) count(name string) int64 {
	value, _ := strconv.ParseInt(n.info[name], 10, 64)
	return value
}

// replicas are those that are connected, as INFO tells: ip, port, state, offset, lag.
func (n *node) replicas() []map[string]string {
	var all []map[string]string
	for {
		line, ok := n.info["slave"+strconv.Itoa(len(all))]
		if !ok {
			return all
		}
		all = append(all, pairs(line))
	}
}

// pairs reads "name=value,name=value".
func pairs(line string) map[string]string {
	all := map[string]string{}
	for _, pair := range strings.Split(line, ",") {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return all
}
