package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// RedisVariable is the environment variable with the URL of the server.
const RedisVariable = "REDISLOCK_REDIS"

// DefaultRedis is the server if nothing else is said, as with redis-cli.
const DefaultRedis = "redis://127.0.0.1:6379"

// reachable is how long a server may take to answer for the first time.
const reachable = 3 * time.Second

// A Redis is which server is meant, and what all its keys begin with: the flags -redis and -prefix.
type Redis struct {
	URL    string
	Prefix string
}

// Define declares the flags.
func (r *Redis) Define(flags *flag.FlagSet) {
	r.DefineURL(flags, DefaultRedis)
	flags.StringVar(&r.Prefix, "prefix", "",
		"what the name of every lock key begins with in Redis, as with WithKeyPrefix; keys are given and shown without it")
}

// DefineURL declares the flag for the server alone; otherwise says what is used without one.
func (r *Redis) DefineURL(flags *flag.FlagSet, otherwise string) {
	flags.StringVar(&r.URL, "redis", "",
		"the `url` of the server, such as redis://user:password@host:6379/0 or rediss://… for TLS;\n"+
			"?master_name=main&addr=host:26379 for Sentinel, ?addr=host:port&addr=… for a Cluster\n"+
			"(default $"+RedisVariable+", else "+otherwise+")")
}

// Given returns the URL of the flag or of the environment, empty if there is none.
func (r *Redis) Given() string { return cmp.Or(r.URL, os.Getenv(RedisVariable)) }

// A Conn is a connection to a server, a Cluster, or what Sentinels look after.
type Conn struct {
	RDB    redis.UniversalClient
	Name   string // for people, without what the URL has of a password
	Prefix string // of every lock key
	IsMini bool   // it is a server inside the program
	close  func() error
}

// Open connects to the server and waits for a sign of life. Close ends the connection.
func (r *Redis) Open(ctx context.Context) (*Conn, error) {
	conn, err := parseURL(cmp.Or(r.Given(), DefaultRedis))
	if err != nil {
		return nil, err
	}
	conn.Prefix = r.Prefix
	redis.SetLogger(silence{}) // what it says is in the errors, too
	if err := conn.ping(ctx); err != nil {
		_ = conn.Close() // nothing was done that could be lost
		return nil, Exit(Unavailable, fmt.Errorf("cannot use %s: %w", conn.Name, err))
	}
	return conn, nil
}

// parseURL makes a connection of what go-redis takes for a URL of a server, a Cluster or Sentinels.
func parseURL(text string) (*Conn, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, Usagef("the url of the server cannot be parsed; it is such as %s", DefaultRedis) // its text may have a password
	}
	query := u.Query()
	switch {
	case query.Has("master_name"):
		opt, err := redis.ParseFailoverURL(text)
		if err != nil {
			return nil, notAURL(err)
		}
		name := fmt.Sprintf("%q, database %d, by the Sentinels %s", opt.MasterName, opt.DB, strings.Join(opt.SentinelAddrs, ", "))
		return newConn(redis.NewFailoverClient(opt), name), nil
	case query.Has("addr"):
		opt, err := redis.ParseClusterURL(text)
		if err != nil {
			return nil, notAURL(err)
		}
		return newConn(redis.NewClusterClient(opt), "the Cluster at "+strings.Join(opt.Addrs, ", ")), nil
	default:
		opt, err := redis.ParseURL(text)
		if err != nil {
			return nil, notAURL(err)
		}
		return newConn(redis.NewClient(opt), fmt.Sprintf("%s, database %d", opt.Addr, opt.DB)), nil
	}
}

func notAURL(err error) error {
	if _, ok := errors.AsType[*url.Error](err); ok {
		err = errors.New("it cannot be parsed") // its text has the url in it, with the password
	}
	return Usagef("the url of the server is such as redis://user:password@localhost:6379/0: %v", err)
}

func newConn(rdb redis.UniversalClient, name string) *Conn {
	return &Conn{RDB: rdb, Name: name, close: rdb.Close}
}

// Embed starts a server inside the program, on a port of the loopback.
func Embed() (*Conn, error) {
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true) // otherwise a time-to-live would stand still
	if err := mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	conn := newConn(redis.NewClient(&redis.Options{Addr: mini.Addr()}), "a miniredis inside the program")
	conn.IsMini = true
	conn.close = func() error {
		err := conn.RDB.Close()
		mini.Close()
		return err
	}
	return conn, nil
}

// OpenOrEmbed is Open if a server is named, and Embed if none is.
func (r *Redis) OpenOrEmbed(ctx context.Context) (*Conn, error) {
	if r.Given() == "" {
		return Embed()
	}
	return r.Open(ctx)
}

// OwnPrefix returns what the keys of one run of a command can begin with, which nobody else uses.
func OwnPrefix(command string) string {
	return "redislock-" + command + "-" + strings.ToLower(rand.Text()[:8]) + ":"
}

// ping asks for a sign of life. It does not wait for it when ctx ends, or beyond a time that
// people wait, whatever the time-outs of the connection are.
func (c *Conn) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, reachable, fmt.Errorf("no answer within %s", reachable))
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- c.RDB.Ping(ctx).Err() }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Client makes a client of the library with the prefix of the connection.
func (c *Conn) Client(opts ...redislock.ClientOption) *redislock.Client {
	if c.Prefix != "" {
		opts = append([]redislock.ClientOption{redislock.WithKeyPrefix(c.Prefix)}, opts...)
	}
	return redislock.New(c.RDB, opts...)
}

// EachMaster calls fn for each server that has keys of its own: the one server, or every master of a Cluster, one
// call after the other.
func (c *Conn) EachMaster(ctx context.Context, fn func(context.Context, *redis.Client) error) error {
	switch rdb := c.RDB.(type) {
	case *redis.Client:
		return fn(ctx, rdb)
	case *redis.ClusterClient:
		var mu sync.Mutex
		return rdb.ForEachMaster(ctx, func(ctx context.Context, one *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			return fn(ctx, one)
		})
	default:
		return fmt.Errorf("unexpected client %T", rdb)
	}
}

// Close ends the connection, and the server if it is inside the program.
func (c *Conn) Close() error { return c.close() }

// silence is a logger that writes nothing.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
