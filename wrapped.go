package redislock

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file is about Redis clients of another type than go-redis' own: all that concerns keys goes
// through their Eval and EvalSha.

// WithWrapped names the Redis client that is wrapped by the one given to [New], if that has a type
// of its own. The Client may then use the wrapped client directly for what concerns no key. That
// makes two things possible. [Options].Queue works, because the Client can subscribe to channels by
// the wrapped client. And calls travel together: several that take or release write locks become
// one EvalSha; on a Cluster or a Ring those do whose keys have the same hash tag.
//
// Every key and every script still goes through Eval and EvalSha of the wrapper, never past them.
// So a wrapper may put a prefix before each key, count calls, or delay them. It must expect that
// the keys of one EvalSha belong to several locks. A prefix must have no hash tag, and on a Cluster
// every key behind a prefix needs a hash tag of its own: see [New].
//
// The option has no effect if New is given a *redis.Client, *redis.ClusterClient or *redis.Ring
// itself. Default: nothing is known of what a client of another type wraps, and only its Eval and
// EvalSha are used.
func WithWrapped(rdb redis.UniversalClient) ClientOption {
	return func(c *Client) { c.wraps, c.unfit = rdb, errors.Join(c.unfit, unfitWrapped(rdb)) }
}

func unfitWrapped(rdb redis.UniversalClient) error {
	switch {
	case isNil(rdb):
		return errors.New("WithWrapped was given no Redis client")
	case !wire.IsGoRedis(rdb):
		return fmt.Errorf("WithWrapped was given a %T: it needs the *redis.Client, *redis.ClusterClient or *redis.Ring itself", rdb)
	}
	return nil
}

// unfit says why nothing can be locked with a Redis client.
func unfit(rdb redis.Scripter) error {
	switch {
	case rdb == nil:
		return errors.New("New was given no Redis client: nil")
	case isNil(rdb):
		return fmt.Errorf("New was given no Redis client: a %T that is nil", rdb)
	}
	if _, ok := rdb.(redis.Pipeliner); ok {
		return fmt.Errorf("%w: New was given a %T, whose answers come at its Exec: give it the client that this is of",
			errors.ErrUnsupported, rdb)
	}
	return nil
}

func isNil(rdb any) bool {
	v := reflect.ValueOf(rdb)
	return rdb == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// usable reports why the client cannot do anything at all.
func (c *Client) usable() error {
	switch {
	case c == nil:
		return errors.New("the Client is nil")
	case c.conn == nil:
		return errors.New("the Client was not made by New")
	}
	return c.unfit
}
