// Package rights finds out what the user of a connection may not do and a lock needs.
package rights

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// A Missing is something that the user of the connection may not do.
type Missing struct {
	Command string // as ACL SETUSER takes it: "evalsha", "cluster|slots"; empty if it is about keys or channels
	Pattern string // of the keys ("~…") or channels ("&…") that it needs; empty if it is about a command
	For     string // what does not work without it: "every lock", "Options.Queue", …
	Rule    string // what ACL SETUSER needs to grant it: "+evalsha", "~redislock:*"
}

// A Report is what a server answers to everything that a lock needs.
type Report struct {
	Missing []Missing // in the order of docs/rights.md: commands, keys, channels
	Unknown []string  // commands that the server does not know at all, or has disabled
}

// Find returns what the user of the connection may not do, of what docs/rights.md lists, for lock keys that begin with
// the prefix. It changes nothing on the server: it reads, or writes to a key that nobody has in a way that does
// nothing. Of a Cluster it asks every master, of a Ring every shard. An error says that a server could not be asked.
func Find(ctx context.Context, rdb redis.UniversalClient, prefix string) ([]Missing, error) {
	switch rdb := rdb.(type) {
	case *redis.Client:
		report, err := On(ctx, rdb, prefix, Single)
		return report.Missing, err
	case *redis.ClusterClient:
		return onCluster(ctx, rdb, prefix)
	case *redis.Ring:
		return onEach(ctx, rdb.ForEachShard, prefix, Ring)
	default:
		return nil, fmt.Errorf("unexpected client %T", rdb)
	}
}

// onCluster asks every master. A user who may not ask which nodes there are cannot be sent to any of them by go-redis: then
// one of the addresses that the client was given is asked.
func onCluster(ctx context.Context, rdb *redis.ClusterClient, prefix string) ([]Missing, error) {
	missing, err := onEach(ctx, rdb.ForEachMaster, prefix, Cluster)
	if err == nil || refusalOf(err) == "" {
		return missing, err
	}
	var errs []error
	for _, addr := range rdb.Options().Addrs {
		one := redis.NewClient(OfNode(rdb.Options(), addr))
		report, err := On(ctx, one, prefix, Cluster)
		_ = one.Close() // nothing was done that could be lost
		if err == nil {
			return report.Missing, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// OfNode makes options for one node of a Cluster of those for all of it, without what the url of a server cannot say.
func OfNode(o *redis.ClusterOptions, addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig, Protocol: o.Protocol,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
	}
}

// onEach asks several servers, and returns what is missing on any of them.
func onEach(
	ctx context.Context, each func(context.Context, func(context.Context, *redis.Client) error) error, prefix string, where Place,
) ([]Missing, error) {
	var mu sync.Mutex
	var all []Missing
	err := each(ctx, func(ctx context.Context, one *redis.Client) error {
		report, err := On(ctx, one, prefix, where)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, report.Missing...)
		return err
	})
	slices.SortStableFunc(all, byRank)
	return slices.Compact(all), err
}
