package redislock

import (
	"errors"
	"fmt"
	"strings"
)

// mostPrefix is how many bytes a prefix has at most.
const mostPrefix = 256

// WithKeyPrefix puts a prefix such as "lock:" in front of every key. A Client that is asked for "stock:9"
// then locks the key "lock:stock:9" of Redis. So no lock has the name of data, and one pattern of an
// ACL, ~lock:*, covers all locks. The names beside a key contain the prefix, too:
// redislock:line:{lock:stock:9}.
//
// Callers name keys without the prefix, and are shown them without it: by Keys, Inspect, conflicts,
// errors, events and the log. [Client.RedisKey] returns the whole name of a key. One error shows whole
// names: if something else stands where the fencing numbers of a key should be, it says where in Redis.
//
// Hash tags work as they do without a prefix: "{order:7}:stock" stays in the slot of "order:7". A key
// without a hash tag is in the slot of its whole name.
//
// Every process needs the same prefix. Two Clients exclude each other only at keys whose whole names are
// the same. So they can meet only if one prefix begins with the other; a Client without a prefix can
// meet every other Client. The key "a:x" behind the prefix "lock:", the key "x" behind the prefix
// "lock:a:" and the key "lock:a:x" without a prefix are one key. A prefix that the Redis client itself
// puts in front of keys, see [WithWrapped], stands before this one.
//
// A prefix has 1 to 256 bytes and no braces, which would be a hash tag of all keys. With any other
// prefix every operation of the Client returns an error. Default: no prefix.
func WithKeyPrefix(prefix string) ClientOption {
	return func(c *Client) { c.prefix, c.unfit = prefix, errors.Join(c.unfit, unfitPrefix(prefix)) }
}

func unfitPrefix(prefix string) error {
	switch {
	case prefix == "":
		return errors.New("WithKeyPrefix was given an empty prefix: without the option there is none")
	case len(prefix) > mostPrefix:
		return fmt.Errorf("WithKeyPrefix was given a prefix of %d bytes, the limit is %d", len(prefix), mostPrefix)
	case strings.ContainsAny(prefix, "{}"):
		return fmt.Errorf("WithKeyPrefix was given %q: a prefix has no braces, because hash tags are a matter of the keys", prefix)
	}
	return nil
}

// RedisKey returns the name that a key of this Client has in Redis: the key behind the prefix of
// [WithKeyPrefix], or the key itself if there is no prefix. Use it for redis-cli, for rights, and to
// find out the slot of the key. What is passed to the Client, and what it returns, has no prefix.
func (c *Client) RedisKey(key string) string {
	if c == nil || c.prefix == "" {
		return key
	}
	return c.prefix + key
}

// withoutPrefix returns names in Redis as callers name them: without a prefix of that length.
func withoutPrefix(names []string, length int) []string {
	if length == 0 {
		return names
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = name[length:]
	}
	return keys
}
