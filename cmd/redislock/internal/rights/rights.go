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
// nothing. Of a Cluster it asks every master. An error says that a server could not be asked.
func Find(ctx context.Context, rdb redis.UniversalClient, prefix string) ([]Missing, error) {
	switch rdb := rdb.(type) {
	case *redis.Client:
		report, err := On(ctx, rdb, prefix, false)
		return report.Missing, err
	case *redis.ClusterClient:
		missing, err := onMasters(ctx, rdb, prefix)
		if refusalOf(err) != "" {
			return onNode(ctx, rdb.Options(), prefix)
		}
		return missing, err
	default:
		return nil, fmt.Errorf("unexpected client %T", rdb)
	}
}

// onMasters asks every master of a Cluster, and returns what is missing on any of them.
func onMasters(ctx context.Context, rdb *redis.ClusterClient, prefix string) ([]Missing, error) {
	var mu sync.Mutex
	var all []Missing
	err := rdb.ForEachMaster(ctx, func(ctx context.Context, one *redis.Client) error {
		report, err := On(ctx, one, prefix, true)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, report.Missing...)
		return err
	})
	slices.SortStableFunc(all, byRank)
	return slices.Compact(all), err
}

// onNode asks one of the addresses that a client of a Cluster was given: of a user who may not ask which nodes there are, go-redis
// cannot send anything to any of them.
func onNode(ctx context.Context, o *redis.ClusterOptions, prefix string) ([]Missing, error) {
	var errs []error
	for _, addr := range o.Addrs {
		one := redis.NewClient(OfNode(o, addr))
		report, err := On(ctx, one, prefix, true)
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
