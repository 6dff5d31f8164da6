package cli

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// recognise finds out what a server is that was named by itself. A node of a Cluster stands for the whole of it. A user who
// may not ask for the slots of that goes on with the node: some keys are there.
func (c *Conn) recognise(ctx context.Context) error {
	if c.single == nil {
		return nil
	}
	mode, err := Await(ctx, func() (string, error) { return Hello(ctx, c.RDB, "mode"), nil })
	if err != nil {
		return err
	}
	switch mode {
	case "sentinel":
		return Usagef("%s is a Sentinel: add ?master_name=NAME to the url, with the name of the primary that it watches", c.single.Addr)
	case "cluster":
	default:
		return nil
	}
	cluster := &Conn{RDB: redis.NewClusterClient(ofCluster(c.single))}
	if err := cluster.ping(ctx); err != nil {
		_ = cluster.Close() // nothing was done that could be lost
		c.isNode = true
		if IsRefusal(err) {
			return nil
		}
		return fmt.Errorf("it is a node of a Cluster: %w", err)
	}
	_ = c.Close() // the same
	c.RDB, c.Name, c.single = cluster.RDB, "the Cluster of "+c.single.Addr, nil
	return nil
}

// Hello returns what a server says of itself under a name of HELLO, such as its mode, which is standalone, cluster or sentinel;
// empty if it does not say it, because it is old, or a proxy. Every user may ask that.
func Hello(ctx context.Context, rdb redis.UniversalClient, name string) string {
	reply := redis.NewMapStringInterfaceCmd(ctx, "hello")
	_ = rdb.Process(ctx, reply)
	text, _ := reply.Val()[name].(string)
	return text
}

var errNoMasters = errors.New("no node of the Cluster has slots")

// loadSlots asks a Cluster which node has which slots. A node that cannot be reached does not matter yet.
func loadSlots(ctx context.Context, cluster *redis.ClusterClient) error {
	var masters atomic.Int32
	err := cluster.ForEachMaster(ctx, func(context.Context, *redis.Client) error { masters.Add(1); return nil })
	if err == nil && masters.Load() == 0 {
		err = errNoMasters
	}
	return err
}
